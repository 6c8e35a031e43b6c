package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/cadre-go/cadre/bench/internal/sampling"
	"github.com/cadre-go/cadre/bench/internal/workloads"
)

// takeApart takes a sample in a process of its own. In one process a subject
// would pay for what those before it have left behind: a runtime that has once
// had a million goroutines, for one, collects garbage slowly ever after.
func takeApart(w *sampling.Workload, subject, ops int) (sampling.Sample, error) {
	var s sampling.Sample
	if w.Subjects[subject].Apart {
		return w.Subjects[subject].Run(ops), nil
	}
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	cmd := exec.Command(self, "-take", w.Name, "-subject", strconv.Itoa(subject), "-ops", strconv.Itoa(ops))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(out, &s)
}

// take is the other end of takeApart: it takes the sample and prints it.
func take(name string, subject, ops int) error {
	for _, w := range workloads.All() {
		if w.Name == name && subject >= 0 && subject < len(w.Subjects) {
			return json.NewEncoder(os.Stdout).Encode(w.Subjects[subject].Run(ops))
		}
	}
	return fmt.Errorf("no subject %d of a workload %q", subject, name)
}
