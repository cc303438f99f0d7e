"""Tells which uses of a program that changes the machine only look at it; pure."""

import re
from collections.abc import Mapping, Sequence

_DISK = r"-l(?: /dev/\w+)*"
_RULES = r"(?:-t \w+ )?(?:-[nvx]+ )*(?:-[nvx]*[LS][nvx]*|--list|--list-rules)(?: [A-Z]+)?"
_RULE_SHAPES = r"(?: -[nvx]+| --numeric| --verbose| --line-numbers)*"
_LOOKS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for names, pattern in (
        ("fdisk sfdisk gdisk sgdisk", _DISK),
        ("parted", r"-l|--list"),
        ("swapon", r"--show(?:=[\w,]+)?|-s|--summary"),
        ("hwclock", r"|-r|--show|--verbose"),
        ("timedatectl", r"|status|show|list-timezones|timesync-status"),
        ("hostnamectl localectl", r"|status|show"),
        ("loginctl", r"|list-sessions|list-users|list-seats"),
        ("machinectl launchctl", r"list"),
        ("iptables ip6tables", _RULES + _RULE_SHAPES),
        ("nft", r"(?:-[a-z]+ )*list \w+(?: \w+)*"),
        ("ufw", r"status(?: verbose| numbered)?"),
        ("firewall-cmd", r"--(?:state|list-(?:all|ports|services|rich-rules)|get-zones)"),
        ("zpool", r"(?:list|status)(?: \w+)*"),
        ("zfs", r"list(?: \w+)*"),
        ("dkms", r"status"),
        ("ldconfig", r"-p|--print-cache"),
        ("capsh", r"--print"),
        ("update-alternatives", r"--(?:list|display|query) \w+"),
        ("rfkill nvme", r"list"),
        ("chkconfig", r"--list"),
    )
    for name in names.split()
}


def only_looks(name: str, words: Sequence[str]) -> bool:
    """True where the program, used like this, changes nothing and shows no secret."""
    pattern = _LOOKS.get(name)
    return pattern is not None and pattern.fullmatch(" ".join(words)) is not None
