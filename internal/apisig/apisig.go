// Package apisig renders the exported API of a module's public packages as
// text, one declaration a line, in the manner of the api directory of the Go
// distribution. The text lies in sig/, one file a package, and a test there
// compares it with the source: no change of the API goes by unseen.
//
// Parameter names, comments and struct tags are left out, because they can
// change without breaking a caller. Values of constants are kept.
//
// The record has limits. It is made for one platform, the one that the tool
// runs on. A method of an unexported type shows up only when an exported
// struct embeds that type: an exported function that returns an unexported
// type, or an alias of one, hides its methods from the record.
package apisig

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cadre-go/cadre/internal/modtree"
)

// A Record is the exported API of one module.
type Record struct {
	// Files maps a slash-separated name such as "executor/lease.txt" to the
	// lines that belong there.
	Files map[string][]string

	// Leaks are the recorded lines that mention a type of an internal
	// package, each after the name of its file: an API that its users cannot
	// spell.
	Leaks []string
}

// Read type-checks the public packages of the module at root, without their
// function bodies, and records what they export.
func Read(root string) (*Record, error) {
	mod, err := modtree.Read(os.DirFS(root))
	if err != nil {
		return nil, err
	}
	l, err := newLoader(root, mod)
	if err != nil {
		return nil, err
	}
	r := &Record{Files: make(map[string][]string)}
	for _, p := range mod.Public() {
		pkg, err := l.load(p)
		if err != nil {
			return nil, err
		}
		w := &writer{pkg: pkg, rhs: l.rhs}
		w.writePackage()

		file := p.Dir + ".txt"
		if p.Dir == "." {
			file = path.Base(p.Path) + ".txt"
		}
		slices.Sort(w.lines)
		r.Files[file] = w.lines
		for _, leak := range w.leaks {
			r.Leaks = append(r.Leaks, file+": "+leak)
		}
	}
	slices.Sort(r.Leaks)
	return r, nil
}

// Compare says how the .txt files of a directory differ from the record: a
// difference a string, with its removed (-) and added (+) lines. An empty
// result means that the directory is true.
func (r *Record) Compare(dir fs.FS) ([]string, error) {
	stale, err := texts(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		data, ok := stale[name]
		delete(stale, name)
		want := text(r.Files[name])
		switch {
		case !ok:
			out = append(out, name+": the package has no file")
		case data != want:
			out = append(out, diff(name, data, want))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stale)) {
		out = append(out, name+": the file has no package")
	}
	return out, nil
}

// Write makes the .txt files below dir equal to the record and removes those
// that have no package. Other files are left alone.
func (r *Record) Write(dir string) error {
	stale, err := texts(os.DirFS(dir))
	if err != nil {
		return err
	}
	for name, lines := range r.Files {
		delete(stale, name)
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text(lines)), 0o666); err != nil {
			return err
		}
	}
	for name := range stale {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// texts reads the .txt files of a directory, by slash-separated name.
func texts(dir fs.FS) (map[string]string, error) {
	files := make(map[string]string)
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".txt" {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		files[name] = string(data)
		return err
	})
	return files, err
}

// text is the content of a file: every line ends with a newline.
func text(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// diff lists what has to leave and to enter a file. Lines are a sorted set,
// so their place needs no saying; a file that merely is out of order says so.
func diff(name, have, want string) string {
	haveLines, wantLines := strings.Split(have, "\n"), strings.Split(want, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", name)
	n := b.Len()
	for _, line := range haveLines {
		if !slices.Contains(wantLines, line) {
			fmt.Fprintf(&b, "\n\t- %s", line)
		}
	}
	for _, line := range wantLines {
		if !slices.Contains(haveLines, line) {
			fmt.Fprintf(&b, "\n\t+ %s", line)
		}
	}
	if b.Len() == n {
		b.WriteString(" the lines are out of order, repeated, or end wrongly")
	}
	return b.String()
}
