package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/pipelines/job"
	"github.com/neardup/neardup/records"
)

// readFrom makes s.In standard input, and adds the inputs that --input names and --inputs-from lists.
func readFrom(ctx context.Context, in *records.Input, running *job.Running, s streams) (err error) {
	running.Stdin = s.In
	in.Inputs, in.NamedInputs = slices.Concat(in.Inputs, in.NamedInputs), nil
	if in.InputsFrom == "" {
		return nil
	}
	list := job.Patient(ctx, s.In)
	if in.InputsFrom != "-" {
		file, err := open(ctx, "--inputs-from", in.InputsFrom)
		if err != nil {
			return err
		}
		defer file.Close()
		list = file
	} else if slices.Contains(in.Inputs, "-") {
		return job.Usage("standard input (-) is both an input and --inputs-from; give one of them as a file")
	}
	paths, err := lines(list)
	if errors.Is(err, bufio.ErrTooLong) {
		return job.Usage("--inputs-from %s: a line is too long for a path; give a file with one path per line", in.InputsFrom)
	}
	if len(paths) == 0 && err == nil {
		return job.Usage("--inputs-from %s: the file contains no paths; give a file with one path per line", in.InputsFrom)
	}
	in.Inputs = slices.Concat(in.Inputs, paths)
	return err
}

// lines returns the lines of r that are not empty, without the byte order mark with which some editors begin a file.
func lines(r io.Reader) (lines []string, err error) {
	scanner := bufio.NewScanner(r)
	for first := true; scanner.Scan(); first = false {
		line := scanner.Text()
		if first {
			line = strings.TrimPrefix(line, "\uFEFF")
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines, scanner.Err()
}
