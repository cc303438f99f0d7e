"""Judges `openssl`: digests, random bytes and certificates are looked at, all else runs; pure.

1. Only the options below are known neither to load nor to run anything.
2. Files to read follow `-in` and its like or stand alone; files to write follow `-out`.
"""

from itertools import pairwise

from modules.safety.shell_case import Case
from modules.safety.shell_code import judge_other
from modules.safety.shell_tables import names

_LOOKS = names(
    "asn1parse base64 ciphers crl dgst errstr list md5 prime rand sha1 sha224 sha256 sha384 sha512"
    " verify version x509"
)
_NETWORK = names("s_client s_server s_time ocsp")
_FLAGS = names(
    "-text -noout -subject -issuer -dates -startdate -enddate -fingerprint -serial -modulus -pubkey"
    " -hash -purpose -email -hex -base64 -binary -r -c -a -A -d -e -v -s -V -md5 -sha1 -sha224"
    " -sha256 -sha384 -sha512 -issuer_hash -subject_hash -digest-algorithms -commands"
)
_TEXTS = names("-inform -outform -nameopt -dateopt -checkend -ext -checkhost -checkip")
_READS = names("-in -CAfile -CApath -untrusted -trusted -verify")
_WRITES = names("-out -keyout -writerand -sess_out -CAserial")


def judge_openssl(case: Case) -> None:
    """Judges `openssl`."""
    words = case.args[1:]
    name = case.args[0].text if case.args else ""
    for option, value in pairwise(words):
        if option.text in _WRITES:
            case.writes(value)
    options = [word.text for word in words if word.text.startswith("-")]
    is_clear = not any(word.may_be_option for word in case.args)
    if name in _NETWORK:
        case.runs("talks to other machines", "bash:net")
    if name in _LOOKS and is_clear and set(options) <= _FLAGS | _TEXTS | _READS | {"-out"}:
        values = [after for before, after in pairwise(words) if before.text in _TEXTS | {"-out"}]
        case.reads_each(w for w in words if w.text[:1] != "-" and w not in values)
    else:
        judge_other(case)
