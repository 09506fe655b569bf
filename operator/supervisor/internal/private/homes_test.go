package private

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func openHomes(t *testing.T) *Homes {
	t.Helper()
	homes, err := Open(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return homes
}

func newHome(t *testing.T, homes *Homes) *Home {
	t.Helper()
	home, err := homes.New()
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// names are what is in a folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestEveryVariableOfAHomeNamesAnEmptyFolderForItsOwnerOnly(t *testing.T) {
	home := newHome(t, openHomes(t))
	env := home.Env()
	for _, name := range []string{"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		info, err := os.Stat(env[name])
		if err != nil || info.Mode() != os.ModeDir|0o700 || len(names(t, env[name])) != 0 || filepath.Dir(env[name]) != home.Path() {
			t.Errorf("%s is %s: %v, %v", name, env[name], info, err)
		}
	}
	if len(env) != 7 || len(names(t, home.Path())) != 7 {
		t.Errorf("got %v, and the folders %v", env, names(t, home.Path()))
	}
}

func TestNoTwoHomesAreTheSameAndNoneIsNamedForItsCall(t *testing.T) {
	homes := openHomes(t)
	one, other := newHome(t, homes), newHome(t, homes)
	if one.Path() == other.Path() || len(one.name) != nameLength {
		t.Errorf("%s and %s", one.Path(), other.Path())
	}
}

func TestNoHomeIsMadeWhereOneCannotBeAndNothingIsLeftOfIt(t *testing.T) {
	homes := openHomes(t)
	if err := os.RemoveAll(homes.Path()); err != nil {
		t.Fatal(err)
	}
	if home, err := homes.New(); err == nil || home != nil || !strings.Contains(err.Error(), "make a private home") {
		t.Errorf("got %v, %v", home, err)
	}
}

func TestWhatAnEarlierBootLeftIsRemoved(t *testing.T) {
	homes := openHomes(t)
	for range 3 {
		home := newHome(t, homes)
		if err := os.WriteFile(home.Env()["HOME"]+"/left", []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(homes.Path()+"/stray", nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(homes.Path(), 0); err != nil || len(names(t, homes.Path())) != 0 {
		t.Errorf("left are %v, %v", names(t, homes.Path()), err)
	}
}

func TestAFolderThatIsNotThereHoldsNoHomes(t *testing.T) {
	if homes, err := Open(t.TempDir()+"/absent", 0); err == nil {
		t.Errorf("got %v", homes)
	}
}

func TestNoHomeCanBeRemovedAndAHomeTwice(t *testing.T) {
	var none *Home
	home := newHome(t, openHomes(t))
	for _, h := range []*Home{none, home, home} {
		if err := h.Remove(); err != nil {
			t.Error(err)
		}
	}
}

func TestHomesAreMadeInAdvanceOnceOneWasAskedFor(t *testing.T) {
	homes, err := Open(t.TempDir(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(names(t, homes.Path())) != 0 {
		t.Error("some are made that nobody may ever ask for")
	}
	for range 5 {
		newHome(t, homes)
		homes.supplying.Wait()
	}
	if spares := len(homes.spares); spares != 1 { // Each takes one, but the first, and leaves one.
		t.Errorf("there are %d", spares)
	}
	for range 3 {
		homes.supply()
	}
	if spares, all := len(homes.spares), len(names(t, homes.Path())); spares != 2 || all != 5+2 {
		t.Errorf("there are %d, and %d in all", spares, all)
	}
	if err := homes.Close(); err != nil || len(names(t, homes.Path())) != 5 {
		t.Errorf("after it was closed: %v, %v", names(t, homes.Path()), err)
	}
}

func TestManyHomesAtOnceAreAllTheirOwn(t *testing.T) {
	homes, err := Open(t.TempDir(), 4)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			home, err := homes.New()
			if err == nil {
				err = os.Mkdir(home.Path()+"/mine", 0o700)
			}
			if err != nil {
				t.Error(err)
				return
			}
			if err := home.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := homes.Close(); err != nil || len(names(t, homes.Path())) != 0 {
		t.Errorf("left are %v, %v", names(t, homes.Path()), err)
	}
}
