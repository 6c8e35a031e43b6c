package modtree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A GoMod is what a go.mod file says, as far as this module's tests ask.
type GoMod struct {
	Path       string   // module
	Go         string   // go
	Direct     []string // "path version" of each requirement without an indirect comment, sorted
	Directives []string // every keyword in the file, sorted, each once
}

// ParseGoMod reads a go.mod file. It knows the lines and blocks that
// "go mod tidy" writes, not every spelling that the go command accepts.
func ParseGoMod(text string) (GoMod, error) {
	var m GoMod
	block := ""
	for i, line := range strings.Split(text, "\n") {
		code, comment, _ := strings.Cut(line, "//")
		words := strings.Fields(code)
		if len(words) == 0 {
			continue
		}
		if block != "" {
			if words[0] == ")" {
				block = ""
				continue
			}
			words = append([]string{block}, words...)
		}
		m.Directives = append(m.Directives, words[0])
		if len(words) == 2 && words[1] == "(" {
			block = words[0]
			continue
		}
		switch words[0] {
		case "module", "go":
			if len(words) != 2 {
				return m, fmt.Errorf("go.mod:%d: %q is not a %s line", i+1, line, words[0])
			}
			if words[0] == "go" {
				m.Go = words[1]
			} else {
				m.Path = words[1]
			}
		case "require":
			if len(words) != 3 {
				return m, fmt.Errorf("go.mod:%d: %q is not a requirement", i+1, line)
			}
			if strings.TrimSpace(comment) != "indirect" {
				m.Direct = append(m.Direct, words[1]+" "+words[2])
			}
		}
	}
	if m.Path == "" {
		return m, errors.New("go.mod: no module line")
	}
	slices.Sort(m.Direct)
	slices.Sort(m.Directives)
	m.Directives = slices.Compact(m.Directives)
	return m, nil
}
