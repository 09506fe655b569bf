package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/measures"
)

// Rights on files. A rule may grant only what its ruleset handles, so each set is cut to the kernel's ABI before use.
const (
	rightsToRead   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsOnDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	// The kernel refuses (EINVAL) a rule on a file that names a right of folders.
	rightsOfFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// allRights are the rights on files that a kernel of this ABI can handle.
func allRights(abi int) uint64 {
	if abi < 1 {
		return 0
	}
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM)<<1 - 1
	for _, right := range []struct {
		since int
		bit   uint64
	}{
		{abiRefer, unix.LANDLOCK_ACCESS_FS_REFER},
		{abiTruncate, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{abiIoctlDevice, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{abiResolveUnix, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if abi >= right.since {
			rights |= right.bit
		}
	}
	return rights
}

// scopes are the reaches a domain gives up: signals to, and abstract sockets of, processes outside it.
func scopes(abi int) uint64 {
	if abi < abiScopes || measures.Off("landlock-scopes") {
		return 0
	}
	return unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
}

// ruleset is a Landlock ruleset, or nothing (fd -1) where there is nothing to handle.
type ruleset struct {
	fd      int
	handled uint64
}

func newRuleset(files, scoped uint64) (ruleset, error) {
	if files == 0 && scoped == 0 { // The kernel answers an empty ruleset with ENOMSG.
		return ruleset{fd: -1}, nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: files, Scoped: scoped}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return ruleset{}, fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	return ruleset{fd: int(fd), handled: files}, nil
}

func (r ruleset) close() {
	if r.fd >= 0 {
		_ = unix.Close(r.fd) // A ruleset holds nothing that a failed close could lose.
	}
}

// allow grants the rights below path; one that opens to nothing, or that Landlock does not guard, is left out.
func (r ruleset) allow(path string, rights uint64, open opener) error {
	fd, err := open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s for a Landlock rule: %w", path, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("look at %s for a Landlock rule: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsOfFiles
	}
	err = r.add(fd, rights&r.handled)
	if errors.Is(err, unix.EBADFD) { // A file of no mounted file system, as a memfd is: Landlock knows no rule on it, and does not guard it.
		return nil
	}
	if err != nil {
		return fmt.Errorf("add a Landlock rule for %s: %w", path, err)
	}
	return nil
}

func (r ruleset) add(fd int, rights uint64) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// enter puts the calling thread into a fresh domain of this ruleset, nested in the one it is in.
func (r ruleset) enter() error {
	if r.fd < 0 {
		return nil
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("enter a Landlock domain: %w", errno)
	}
	return nil
}
