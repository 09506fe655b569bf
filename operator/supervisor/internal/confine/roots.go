package confine

import (
	"cmp"
	"path/filepath"
	"slices"
)

// Root is a folder that calls may write.
type Root struct {
	Name string // as whoever started the supervisor wrote it
	Path string // where that led before any call ran: no call can put a link in its way
}

// Roots are the folders of these names, without those that lie in another of them: such a one needs no right of its own, and calls could make it lead
// elsewhere.
func Roots(names []string) []Root {
	var roots []Root
	for _, name := range names {
		roots = append(roots, Root{filepath.Clean(name), ""})
	}
	roots = outermost(roots, func(r Root) string { return r.Name })
	for i := range roots {
		roots[i].Path = RealPath(roots[i].Name)
	}
	return outermost(roots, func(r Root) string { return r.Path })
}

// outermost leaves out who is, or lies in, an earlier or wider one.
func outermost(roots []Root, path func(Root) string) []Root {
	var kept []Root
	for i, inner := range roots {
		if !slices.ContainsFunc(roots[:i], func(r Root) bool { return path(r) == path(inner) }) &&
			!slices.ContainsFunc(roots, func(r Root) bool { return path(r) != path(inner) && within(path(inner), path(r)) }) {
			kept = append(kept, inner)
		}
	}
	return kept
}

// Paths is where the roots are.
func Paths(roots []Root) []string {
	var paths []string
	for _, r := range roots {
		paths = append(paths, r.Path)
	}
	return paths
}

// Bind leaves the box, of what it may write, what lies both below one of the roots and below one of the paths; all else it may go on reading.
func (b Box) Bind(roots []Root, paths []string) Box {
	b.Read = slices.Concat(b.Read, b.Write)
	b.BindsWrites = true
	b.Write = nil
	for _, root := range roots {
		for _, path := range paths {
			if common, there := root.common(path); there {
				b.Write = append(b.Write, common)
			}
		}
	}
	return b
}

// ReadingOnly leaves the box nothing to write in a folder, which it goes on reading: what holds the folder or lies in it is not writable any more.
func (b Box) ReadingOnly(folder string) Box {
	b.Read = slices.Concat(b.Read, b.Write)
	b.BindsWrites = true
	b.Write = apart(b.Write, folder)
	return b
}

// Without leaves the box nothing of a folder, and nothing of what holds it or lies in it.
func (b Box) Without(folder string) Box {
	b.BindsWrites = true
	b.Read, b.Write = apart(b.Read, folder), apart(b.Write, folder)
	return b
}

// apart are the paths that have nothing in common with a folder.
func apart(paths []string, folder string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return Touch(path, folder) })
}

// common is the narrower of a root and a path, one of which lies in the other, by the root's own path. A path may begin with either name of the root.
func (r Root) common(path string) (narrower string, there bool) {
	for _, name := range []string{r.Path, r.Name} {
		if within(name, path) {
			return r.Path, true
		}
		if within(path, name) {
			return filepath.Join(r.Path, path[len(name):]), true
		}
	}
	return "", false
}

// RealPath is where a path leads, also when its last parts do not exist yet.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return cmp.Or(real, path)
	}
	return filepath.Join(RealPath(filepath.Dir(path)), filepath.Base(path))
}
