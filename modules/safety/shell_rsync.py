"""Judges `rsync`: between folders of one machine it copies, else it uses the network; pure.

1. Only the options below are known to run and delete nothing; with any other it may do anything.
2. A colon anywhere in its arguments may name another machine.
"""

import re
from dataclasses import replace

from modules.safety.shell_case import Case
from modules.safety.shell_files import judge_copy
from modules.safety.shell_options import read_options
from modules.safety.shell_system import judge_network
from modules.safety.shell_tables import names

_KNOWN = names(
    "-a -v -r -u -l -L -H -p -E -A -X -o -g -t -D -h -n -P -q -c -i -W -x -S -m -I -z -O --archive"
    " --verbose --recursive --update --links --copy-links --hard-links --perms --executability"
    " --acls --xattrs --owner --group --times --human-readable --dry-run --partial --progress"
    " --quiet --checksum --itemize-changes --whole-file --one-file-system --sparse --stats"
    " --prune-empty-dirs --ignore-times --size-only --existing --ignore-existing --exclude"
    " --include --exclude-from --include-from --max-size --min-size --info --cvs-exclude"
    " --no-perms --no-owner --no-group --no-times --mkpath --inplace"
)
_DELETES = re.compile(r"--del(?:ete)?(?:-\w+)*|--remove-source-files")
_VALUES = names("--exclude --include --exclude-from --include-from --max-size --min-size --info")


def judge_rsync(case: Case) -> None:
    """Judges `rsync`."""
    options = read_options(case.args, _VALUES)
    deletes = {name for name, _ in options.flags if _DELETES.fullmatch(name)}
    is_known = all(name in _KNOWN | deletes for name, _ in options.flags)
    is_near = all(word.is_known and ":" not in word.text for word in case.args)
    if not (is_known and is_near) or options.unclear:
        judge_network(case)
        return
    if deletes:
        case.hides("deletes what the other side lacks", "bash:rm")
    case.reads_each(options.values("--exclude-from", "--include-from"))
    if len(options.operands) < 2:
        case.reads_each(options.operands)
    else:
        judge_copy(replace(case, args=options.operands))
