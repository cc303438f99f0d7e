"""Attacks on a jail: a script each, and what it changes or shows when nothing holds it.

Scripts know $L lane, $A its folder in git's $G, $R main checkout, $W another lane, $O outside,
$S a hidden folder, $OUTER a process outside, $PY an interpreter, and what listens outside.
"""

from dataclasses import dataclass

from modules.safety.jail import SandboxKind

BOTH = frozenset({SandboxKind.BWRAP, SandboxKind.LANDLOCK})
BWRAP = frozenset({SandboxKind.BWRAP})
SHOWN = "SHOWN"
HIT = "$O/hit"


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack; it works when `target` has changed, `listener` heard of it, or SHOWN is out."""

    name: str
    script: str
    target: str = ""
    """The file, folder or link that changes."""
    listener: str = ""
    stopped_by: frozenset[SandboxKind] = BOTH
    """Landlock can't protect a file inside a writable folder, nor modes anywhere."""
    root_only: bool = False
    """True where only root succeeds without a jail."""
    may_fail_unguarded: bool = False
    """True where some machines stop it by themselves (few capabilities, Yama, no namespaces)."""


FILES = (
    Attack("write_outside", "echo x > $O/hit", HIT),
    Attack("write_main_checkout", "echo x > $R/hit", "$R/hit"),
    Attack("write_other_lane", "echo x > $W/hit", "$W/hit"),
    Attack("overwrite_outside", "echo x > $O/victim", "$O/victim"),
    Attack("truncate_outside", "truncate -s 0 $O/victim", "$O/victim"),
    Attack("delete_outside", "rm -f $O/victim", "$O/victim"),
    Attack("rename_outside", "mv $O/victim $O/moved", "$O/victim"),
    Attack("move_in_from_outside", "mv $O/victim $L/taken", "$O/victim"),
    Attack("move_out", "echo x > f; mv f $O/hit", HIT),
    Attack("make_folder_outside", "mkdir $O/hit", HIT),
    Attack("link_out", "ln -s /etc $O/hit", HIT),
    Attack("write_through_link", "ln -s $O s; echo x > s/hit", HIT),
    Attack("write_through_hard_link", "ln $O/victim h && echo x >> h", "$O/victim"),
    Attack("write_through_working_folder", "cd $O && echo x > /proc/self/cwd/hit", HIT),
    Attack("change_mode_outside", "chmod 777 $O/victim", "$O/victim", stopped_by=BWRAP),
    Attack("read_hidden", f"grep -q secret $S/key && echo {SHOWN}"),
    Attack("read_hidden_by_link", f"ln -s $S s2; grep -q secret s2/key && echo {SHOWN}"),
    Attack("read_hidden_by_hard_link", f"ln $S/key k; grep -q secret k && echo {SHOWN}"),
)

MOUNTS = (
    Attack("remount_root", "mount -o remount,rw /; echo x > $O/hit", HIT),
    Attack("remount_bind", "mount -o remount,bind,rw /; echo x > $O/hit", HIT),
    Attack(
        "bind_over",
        "mount --bind $O $L; mount -o remount,bind,rw $L; echo x > $O/hit; umount $L",
        HIT,
    ),
    Attack("unmask", f"umount -l $S; umount $S; grep -q secret $S/key && echo {SHOWN}"),
    Attack(
        "unshare_mounts",
        "unshare -m sh -c 'mount -o remount,rw /; mount -o remount,bind,rw /; echo x > $O/hit'",
        HIT,
        root_only=True,
        may_fail_unguarded=True,
    ),
    Attack(
        "unshare_user",
        "unshare -Urm sh -c 'mount -o remount,bind,rw /; mount --bind $O $O; echo x > $O/hit'",
        HIT,
        may_fail_unguarded=True,
    ),
    Attack(
        "nsenter",
        'nsenter -t $OUTER -m sh -c "echo x > $O/hit"',
        HIT,
        root_only=True,
        may_fail_unguarded=True,
    ),
    Attack("root_of_other", "echo x > /proc/$OUTER/root$O/hit", HIT, may_fail_unguarded=True),
    Attack("chroot", 'chroot / sh -c "echo x > $O/hit"', HIT, root_only=True),
)

KERNEL = (
    # The pattern is written back as it was, which without a jail is a real write all the same.
    Attack(
        "core_pattern",
        f'f=/proc/sys/kernel/core_pattern; p=$(cat $f); echo "$p" > $f && echo {SHOWN}',
        root_only=True,
        may_fail_unguarded=True,
    ),
    Attack(
        "sysrq",
        f"dd if=/dev/null of=/proc/sysrq-trigger conv=nocreat,notrunc && echo {SHOWN}",
        root_only=True,
        may_fail_unguarded=True,
    ),
    Attack(
        "kernel_log",
        f"dd if=/dev/null of=/dev/kmsg conv=nocreat,notrunc && echo {SHOWN}",
        root_only=True,
        may_fail_unguarded=True,
    ),
    Attack(
        "device_node",
        f"mknod $L/null c 1 3 && echo {SHOWN}",
        root_only=True,
        may_fail_unguarded=True,
    ),
    Attack("change_owner", f"touch own; chown 1234 own && echo {SHOWN}", root_only=True),
    Attack("signal_outside", f"kill -0 $OUTER && echo {SHOWN}"),
    Attack("read_environment_outside", f"grep -qa PATH /proc/$OUTER/environ && echo {SHOWN}"),
    Attack(
        "memory_outside",
        f"exec 3< /proc/$OUTER/mem && echo {SHOWN}",
        may_fail_unguarded=True,
    ),
)


def _send(family: str, kind: str, address: str) -> str:
    return (
        f"$PY -c 'import os, socket as s; k = s.socket(s.{family}, s.{kind}); "
        f'k.connect({address}); k.send(b"hit")\''
    )


NETWORK = (
    Attack(
        "tcp",
        _send("AF_INET", "SOCK_STREAM", '("127.0.0.1", int(os.environ["TCP"]))'),
        listener="tcp",
    ),
    Attack(
        "udp",
        _send("AF_INET", "SOCK_DGRAM", '("127.0.0.1", int(os.environ["UDP"]))'),
        listener="udp",
    ),
    Attack(
        "socket_file",
        _send("AF_UNIX", "SOCK_DGRAM", 'os.environ["SOCKET"]'),
        listener="socket_file",
    ),
    Attack(
        "abstract_socket",
        _send("AF_UNIX", "SOCK_DGRAM", '"\\0" + os.environ["ABSTRACT"]'),
        listener="abstract_socket",
    ),
)

GIT = (
    Attack("git_config", "git config -f $G/config core.fsmonitor evil", "$G/config"),
    Attack("git_config_by_git", "git config core.pager evil", "$G/config"),
    Attack("git_hook", "echo x > $G/hooks/pre-commit", "$G/hooks/pre-commit"),
    Attack(
        "git_hooks_replaced",
        "mv $G/hooks $G/h; mkdir $G/hooks; echo x > $G/hooks/pre-commit",
        "$G/hooks/pre-commit",
    ),
    Attack("git_attributes", "echo '* filter=x' > $G/info/attributes", "$G/info/attributes"),
    Attack("git_head", "echo ref: refs/heads/evil > $G/HEAD", "$G/HEAD"),
    Attack("git_common_dir", "echo /evil > $G/commondir", "$G/commondir"),
    Attack(
        "git_main_branch",
        "git commit -q --allow-empty -m x && git update-ref refs/heads/main HEAD",
        "$G/refs/heads/main",
    ),
    Attack("git_main_branch_file", "echo evil > $G/refs/heads/main", "$G/refs/heads/main"),
    Attack("git_refs_renamed", "mv $G/refs/heads $G/refs/h", "$G/refs/heads/main"),
    Attack("git_tag", "git tag evil", "$G/refs/tags/evil"),
    Attack("git_stash", "echo x >> a.txt; git stash -q", "$G/refs/stash"),
    Attack("git_packed_refs", "git pack-refs --all", "$G/packed-refs"),
    Attack("git_refs_packed_away", "git pack-refs --all", "$G/refs/heads/wt/one"),
    Attack(
        "git_log_that_leads_out",
        "mkdir -p $G/logs/refs/heads/wt; ln -s $O/hit $G/logs/refs/heads/wt/three",
        "$G/logs/refs/heads/wt/three",
    ),
    Attack(
        "git_log_of_other_lane",
        "rm $G/logs/refs/heads/wt/two; ln -s $O/victim $G/logs/refs/heads/wt/two",
        "$G/logs/refs/heads/wt/two",
    ),
    Attack(
        "git_log_of_other_head",
        "echo x >> $G/worktrees/two/logs/HEAD",
        "$G/worktrees/two/logs/HEAD",
    ),
    Attack("git_alternates", "echo /x > $G/objects/info/alternates", "$G/objects/info/alternates"),
    Attack("git_packs", "rm -rf $G/objects/pack", "$G/objects/pack"),
    Attack(
        "git_objects_removed",
        'rm -rf "$(git rev-parse --git-common-dir)"/objects/??',
        "$B",
        stopped_by=BWRAP,
    ),
    Attack("git_object_overwritten", "rm -f $B; echo x > $B", "$B", stopped_by=BWRAP),
    Attack(
        "git_object_forged",
        "echo evil > e; e=$(git hash-object -w e); "
        "cp --remove-destination $G/objects/${e:0:2}/${e:2} $B",
        "$B",
        stopped_by=BWRAP,
    ),
    Attack(
        "git_objects_of_other_lane",
        "mkdir -p $G/crewyard-objects/two; echo x > $G/crewyard-objects/two/hit",
        "$G/crewyard-objects/two/hit",
    ),
    Attack(
        "checkout_for_the_next_lane",
        "mkdir -p $G/crewyard-trees/1/tree; echo x > $G/crewyard-trees/1/tree/hit",
        "$G/crewyard-trees/1/tree/hit",
    ),
    Attack("git_modules", "mkdir -p $G/modules/evil", "$G/modules"),
    Attack("git_new_worktree", "git worktree add -q --detach ../three", "$G/worktrees/three"),
    Attack("git_other_worktree", "echo /x > $G/worktrees/two/gitdir", "$G/worktrees/two/gitdir"),
    Attack("git_file_of_lane", "echo gitdir: /x > $L/.git", "$L/.git", stopped_by=BWRAP),
    Attack(
        "git_file_of_lane_replaced",
        "echo gitdir: /x > x; mv x $L/.git",
        "$L/.git",
        stopped_by=BWRAP,
    ),
    Attack("git_common_dir_of_lane", "echo /x > $A/commondir", "$A/commondir", stopped_by=BWRAP),
    Attack("git_back_link_of_lane", "echo /x > $A/gitdir", "$A/gitdir", stopped_by=BWRAP),
    Attack(
        "git_config_of_lane",
        "git config -f $A/config.worktree core.fsmonitor evil",
        "$A/config.worktree",
        stopped_by=BWRAP,
    ),
    Attack("lane_renamed", "cd /; mv $L $L.gone", "$L"),
    Attack("git_folder_renamed", "cd /; mv $G $G.gone", "$G"),
)

ALL = FILES + MOUNTS + KERNEL + NETWORK + GIT
