package main

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
)

//go:embed texts/*.txt
var texts embed.FS

// index is an inverted index: for each word the documents that have it.
type index struct {
	postings map[string][]string
	words    int
}

// openIndex reads a directory of text files.
func openIndex(fsys fs.FS, dir string) (*index, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	x := &index{postings: make(map[string][]string)}
	for _, entry := range entries {
		text, err := fs.ReadFile(fsys, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		x.add(strings.TrimSuffix(entry.Name(), ".txt"), string(text))
	}
	return x, nil
}

func (x *index) add(document, text string) {
	for _, word := range split(text) {
		x.words++
		if docs := x.postings[word]; len(docs) == 0 || docs[len(docs)-1] != document {
			x.postings[word] = append(docs, document)
		}
	}
}

// search returns the documents that have every word of the query.
//
// It has a bug, which is what this example lives from: a query without a word
// panics.
func (x *index) search(query string) []string {
	words := split(query)
	hits := slices.Clone(x.postings[words[0]])
	for _, word := range words[1:] {
		hits = slices.DeleteFunc(hits, func(document string) bool {
			return !slices.Contains(x.postings[word], document)
		})
	}
	return hits
}

// split cuts a text into lower-case words.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r)
	})
}
