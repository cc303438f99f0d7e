"""What common programs do with their options and operands; pure data.

1. A reader takes any operand: none of its options writes or runs anything.
2. A checked program is safe but for the options listed; an operand that could turn into one of
   them (a pattern, an unknown value) makes it dangerous.
3. A writer changes the files its operands name.
4. A program of another table runs code, uses the network, installs packages, or needs a person.
Whatever is in no table runs code.
"""

from enum import StrEnum

from modules.records.record import Record


class Effect(StrEnum):
    """What an option or an operand does."""

    READS = "reads"
    WRITES = "writes"
    CHANGES = "changes"
    RUNS = "runs"
    DELETES = "deletes"
    SYSTEM = "system"
    TEXT = "text"
    """Nothing: the value is no file."""


class Spec(Record):
    """One program."""

    operands: Effect = Effect.READS
    texts: int = 0
    """How many operands come first that are no files (a pattern, say)."""
    writes_from: int | None = None
    """Place of the first operand that is written, where the ones before it are read."""
    values: frozenset[str] = frozenset()
    """Options that take the next word."""
    hazards: dict[str, Effect] = {}
    """Options that do more than the program's name tells."""
    texts_given_by: frozenset[str] = frozenset()
    """Options that replace the operands counted in `texts`."""
    is_checked: bool = False


def names(text: str) -> frozenset[str]:
    """Returns the names in a line of text."""
    return frozenset(text.split())


def _hazards(text: str) -> dict[str, Effect]:
    """Returns options and effects written as `-o=writes --exec=runs`."""
    pairs = (entry.rpartition("=") for entry in text.split())
    return {option: Effect(effect) for option, _, effect in pairs}


def _checked(hazards: str, values: str = "", *, operands: Effect = Effect.READS) -> Spec:
    risky = _hazards(hazards)
    return Spec(
        operands=operands,
        values=names(values)
        | {o for o, effect in risky.items() if effect in (Effect.READS, Effect.WRITES)},
        hazards=risky,
        is_checked=True,
    )


TEXT_ONLY = names(
    "echo : true false exit return break continue shift pwd whoami logname id groups uname arch"
    " nproc uptime free users who w tty cal ncal seq sleep yes which whereis type help apropos"
    " whatis locale getconf expr factor basename dirname pathchk bg fg disown times dirs"
    " popd pgrep pidof top vmstat iostat mpstat lscpu lsb_release lsblk lsmod lspci lsusb"
    " df last lastlog clear tput sw_vers ulimit umask numfmt uuidgen"
)
READERS: dict[str, Spec] = {
    **dict.fromkeys(
        names(
            "ls dir vdir cat tac nl head tail wc cut paste join comm cmp diff diff3 rev fold bc"
            " fmt pr expand unexpand tr od hexdump hd strings stat du realpath readlink md5sum"
            " sha1sum sha224sum sha256sum sha384sum sha512sum b2sum sum cksum base64 base32 basenc"
            " column zcat bzcat xzcat zstdcat zdiff zcmp look tsort shasum md5 readelf shellcheck"
            " col colrm zipinfo tokei lsattr getfacl getcap"
            " exa eza lsd cd pushd"
        ),
        Spec(),
    ),
    **dict.fromkeys(
        names("wc du"),
        Spec(
            values=names("--files0-from --exclude-from -X -d --max-depth --exclude"),
            hazards=_hazards("--files0-from=reads --exclude-from=reads -X=reads"),
        ),
    ),
    **dict.fromkeys(
        names("grep egrep fgrep zgrep zegrep zfgrep"),
        Spec(
            texts=1,
            texts_given_by=names("-e -f --regexp --file"),
            values=names(
                "-e -f -m -A -B -C -d -D --regexp --file --max-count --after-context"
                " --before-context --context --include --exclude --exclude-dir --color --label"
            ),
            hazards={"-f": Effect.READS, "--file": Effect.READS, "--include": Effect.READS},
        ),
    ),
}
CHECKED: dict[str, Spec] = {
    "rg": Spec(
        texts=1,
        texts_given_by=names("-e -f --regexp --file --files --type-list"),
        values=names(
            "-e -f -g -t -T -A -B -C -m -M -j -r -d -E --regexp --file --glob --iglob --type"
            " --type-not --type-add --after-context --before-context --context --max-count"
            " --max-depth --max-columns --max-filesize --threads --replace --sort --sortr --color"
            " --colors --encoding --engine --ignore-file --path-separator --context-separator"
            " --pre --pre-glob --hostname-bin"
        ),
        hazards=_hazards(
            "--pre=runs --pre-glob=runs --hostname-bin=runs -z=runs --search-zip=runs -f=reads"
            " --file=reads --ignore-file=reads"
        ),
        is_checked=True,
    ),
    **dict.fromkeys(
        names("ag ack"),
        Spec(
            texts=1,
            values=names("-A -B -C -m -G --ignore --pager --ackrc"),
            hazards=_hazards("--pager=runs -z=runs --search-zip=runs --ackrc=runs"),
            is_checked=True,
        ),
    ),
    **dict.fromkeys(
        names("fd fdfind"),
        Spec(
            texts=1,
            values=names(
                "-e -t -d -E -S -c -j --extension --type --max-depth --min-depth"
                " --exclude --size --color --threads --exec --exec-batch --changed-within"
                " --changed-before --owner --format --base-directory --search-path"
            ),
            hazards=_hazards("-x=runs -X=runs --exec=runs --exec-batch=runs"),
            is_checked=True,
        ),
    ),
    "sort": _checked(
        "-o=writes --output=writes --compress-program=runs --files0-from=reads -T=writes"
        " --temporary-directory=writes",
        "-k -t -S --key --field-separator --buffer-size --batch-size --parallel --sort",
    ),
    "shuf": _checked(
        "-o=writes --output=writes --random-source=reads",
        "-n -i --head-count --input-range",
    ),
    "tree": _checked("-o=writes", "-L -I -P --filelimit --charset --sort --timefmt"),
    "file": _checked(
        "-C=changes --compile=changes -f=reads --files-from=reads -m=reads --magic-file=reads",
        "-F -P -e --separator --parameter --exclude",
    ),
    "uniq": Spec(
        writes_from=1,
        values=names("-f -s -w -N --skip-fields --skip-chars --check-chars"),
        is_checked=True,
    ),
    "iconv": _checked("-o=writes --output=writes", "-f -t --from-code --to-code"),
    "split": Spec(
        operands=Effect.CHANGES,
        writes_from=1,
        values=names("-a -b -C -l -n -t --filter --bytes --lines --number"),
        hazards=_hazards("--filter=runs"),
        is_checked=True,
    ),
    "csplit": Spec(
        operands=Effect.CHANGES,
        values=names("-f -b -n --prefix --suffix-format --digits"),
        hazards=_hazards("-f=writes --prefix=writes"),
        is_checked=True,
    ),
    "yq": Spec(
        texts=1,
        values=names("-p -o --input-format --output-format --indent -I --from-file"),
        hazards=_hazards("-i=changes --inplace=changes --in-place=changes --from-file=reads"),
        is_checked=True,
    ),
    **dict.fromkeys(names("bat batcat"), _checked("--pager=runs --generate-config-file=changes")),
    **dict.fromkeys(names("nm objdump size"), _checked("--plugin=runs")),
    "sdiff": _checked("-o=writes --output=writes --diff-program=runs"),
    "jobs": _checked("-x=runs", operands=Effect.TEXT),
    "wait": _checked("-p=runs", operands=Effect.TEXT),
    "man": _checked(
        "-P=runs --pager=runs -H=runs --html=runs -C=runs --config-file=runs -X=runs -T=runs"
        " --preprocessor=runs -p=runs -l=runs --local-file=runs -M=runs --manpath=runs",
        operands=Effect.TEXT,
    ),
    **dict.fromkeys(
        names("less more most"),
        _checked(
            "-o=writes -O=writes --log-file=writes --LOG-FILE=writes -k=runs --lesskey-src=runs"
            " --lesskey-file=runs --lesskey-content=runs -t=runs -T=runs --tag=runs --tag-file=runs"
        ),
    ),
    "ss": _checked("-K=runs --kill=runs -D=writes --diag=writes", operands=Effect.TEXT),
    "netstat": _checked("", operands=Effect.TEXT),
    "lsof": _checked("-D=changes", operands=Effect.TEXT),
    "fuser": _checked("-k=runs --kill=runs", operands=Effect.TEXT),
    "journalctl": _checked(
        "--vacuum-size=system --vacuum-time=system --vacuum-files=system --rotate=system"
        " --flush=system --sync=system --relinquish-var=system --setup-keys=system"
        " --update-catalog=system",
        "-u -n -p -S -U -o -b -t --unit --lines --priority --since --until --output",
        operands=Effect.TEXT,
    ),
    "dmesg": _checked(
        "-C=system --clear=system -c=system --read-clear=system -n=system --console-level=system"
        " -D=system --console-off=system -E=system --console-on=system",
        operands=Effect.TEXT,
    ),
    "hostname": Spec(
        operands=Effect.SYSTEM,
        hazards=_hazards("-F=system --file=system -b=system --boot=system"),
        is_checked=True,
    ),
    "cloc": _checked("--config=reads --list-file=reads --extract-with=runs --out=writes"),
    "scc": _checked("-o=writes --output=writes --format-multi=writes"),
    "gofmt": _checked("-w=changes -r=changes -cpuprofile=writes", "-r -cpuprofile"),
}
PACKERS = names("gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4")
"""Writers that take a single dash for their input."""
WRITERS: dict[str, Spec] = {
    "mkdir": Spec(operands=Effect.WRITES, values=names("-m --mode"), is_checked=True),
    "touch": Spec(
        operands=Effect.WRITES, values=names("-d -t -r --date --reference"), is_checked=True
    ),
    "tee": Spec(operands=Effect.WRITES, is_checked=True),
    "sponge": Spec(operands=Effect.WRITES, is_checked=True),
    "truncate": Spec(
        operands=Effect.WRITES, values=names("-s -r --size --reference"), is_checked=True
    ),
    **dict.fromkeys(names("dos2unix unix2dos"), Spec(operands=Effect.WRITES, is_checked=True)),
    "mkfifo": Spec(operands=Effect.WRITES, values=names("-m --mode"), is_checked=True),
    **dict.fromkeys(
        PACKERS,
        Spec(
            operands=Effect.WRITES,
            values=names("-S --suffix -o"),
            hazards=_hazards("-o=writes"),
            is_checked=True,
        ),
    ),
}
DELETERS: dict[str, Spec] = {
    "rmdir": Spec(operands=Effect.DELETES),
    "unlink": Spec(operands=Effect.DELETES),
    "srm": Spec(operands=Effect.DELETES),
}
NETWORK = names(
    "ssh scp sftp rsync nc ncat netcat telnet ftp lftp tftp ping ping6 traceroute tracepath mtr"
    " dig nslookup host whois nmap gh glab hub aws gcloud gsutil az doctl heroku vercel netlify"
    " flyctl fly kubectl helm oc terraform pulumi ansible ansible-playbook psql mysql mongosh mongo"
    " redis-cli http https xh youtube-dl yt-dlp socat openvpn wg mosh mail sendmail mutt twine"
    " lynx w3m links elinks tcpdump tshark iperf iperf3 ab wrk hey rclone s3cmd ngrok cloudflared"
    " websocat grpcurl ssh-keyscan ssh-copy-id"
)
DOWNLOADERS = names("curl wget aria2c axel fetch")
SYSTEM = names(
    "sudo su doas pkexec runuser gosu su-exec chroot nsenter unshare setpriv capsh setcap"
    " umount swapon swapoff losetup mkswap fdisk sfdisk cfdisk gdisk sgdisk parted wipefs"
    " blkdiscard hdparm cryptsetup debugfs tune2fs resize2fs e2fsck fsck zpool zfs mdadm lvremove"
    " vgremove pvremove lvcreate insmod rmmod modprobe depmod kexec iptables ip6tables nft"
    " ebtables ufw firewall-cmd shutdown reboot halt poweroff init telinit at batch atrm anacron"
    " useradd userdel usermod groupadd groupdel groupmod adduser deluser addgroup delgroup passwd"
    " chpasswd chsh chfn newusers mke2fs mkntfs newfs visudo vipw vigr gpasswd update-rc.d"
    " chkconfig launchctl killall5 setenforce semanage chattr chcon apparmor_parser aa-disable"
    " grub-install update-grub efibootmgr dkms format diskpart mknod bpftool auditctl hwclock"
    " ntpdate update-alternatives loginctl machinectl systemd-run systemd-nspawn"
    " timedatectl hostnamectl localectl run0 newgrp sg sudoedit rc-service rc-update fusermount"
    " fusermount3 tc ldconfig pivot_root switch_root ethtool iw iwconfig nmcli rfkill nvme bwrap"
    " firejail newuidmap newgidmap"
)
AGENTS = names(
    "claude codex gemini aider opencode cursor-agent crewyard cline copilot openhands swe-agent"
    " goose amp qwen kimi crush droid auggie"
)
SHELLS = names("sh bash dash zsh ksh mksh ash fish rbash yash tcsh csh")
INTERPRETERS = names(
    "python python2 python3 pypy pypy3 node nodejs deno bun ruby perl php lua luajit R Rscript"
    " julia tclsh osascript pwsh powershell groovy scala elixir ghci ocaml ipython"
)
SHELL_STATE = names(
    "alias unalias hash mapfile readarray let compgen complete compopt enable bind fc getopts"
    " caller export declare typeset local readonly unset history"
)
LEAKERS = names("env printenv")
VERSIONED = names(
    "python python2 python3 pypy3 node nodejs npm npx pnpm yarn bun deno ruby gem bundle perl php"
    " composer lua java javac kotlin kotlinc scala go rustc cargo rustup gcc g++ cc c++ clang"
    " clang++ make gmake cmake ninja meson bazel gradle mvn git gh docker docker-compose podman"
    " kubectl helm terraform uv uvx pip pip3 pipx poetry pdm hatch conda ruff mypy black flake8"
    " pylint tsc eslint prettier jq yq curl wget ssh sed awk gawk bash sh zsh fish tmux psql"
    " sqlite3 mysql redis-cli dotnet swift ghc elixir erl R julia tar zip unzip rsync openssl gpg"
    " vim nvim emacs nano code tree rg fd bat fzf shellcheck hadolint ansible aws gcloud az"
    " pre-commit tox nox jest vitest bwrap strace gdb valgrind lsof apt dpkg brew"
)
VERSION_OPTIONS = names("--version -V -version --help")
