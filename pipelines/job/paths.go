package job

import (
	"context"
	"errors"

	"github.com/neardup/neardup/blocks"
	"github.com/neardup/neardup/io/storage"
)

// OutputExistsError says that an output is there already, or in use: exit status 3.
type OutputExistsError struct{ Reason string }

func (e *OutputExistsError) Error() string { return e.Reason }

// CheckOutputNotInInput refuses an output below an input folder, which the next run would read.
func CheckOutputNotInInput(ctx context.Context, inputs []string, output string) error {
	input, err := folderAbove(ctx, output, inputs)
	if err == nil && input != "" {
		return Usage("the output %s is below the input folder %s, so the next run would read it; choose another", output, input)
	}
	return err
}

// CheckTempNotInInput refuses temporary files below an input folder, of a job that lists its input
// again. Temp is the folder for them, "" the system's.
func CheckTempNotInInput(ctx context.Context, inputs []string, temp string) error {
	temp = storage.TempParent(temp)
	input, err := folderAbove(ctx, temp, inputs)
	if err == nil && input != "" {
		return Usage("--temp-dir %s: temporary files there would be below the input folder %s and be read as input; give a folder elsewhere", temp, input)
	}
	return err
}

// folderAbove returns the input folder that a path is below, or "".
func folderAbove(ctx context.Context, path string, inputs []string) (string, error) {
	path, err := storage.Resolve(path)
	if err != nil {
		return "", err
	}
	for _, input := range inputs {
		folder, err := storage.Resolve(input)
		if err != nil {
			return "", err
		}
		if _, below := storage.Rel(folder, path); !below {
			continue
		}
		if _, err := storage.Names(ctx, folder); err == nil { // a folder
			return input, nil
		}
	}
	return "", nil
}

// CheckInputNotInOutput refuses input files below the output, which this run would replace. Temp is where
// standard input may have been copied to.
func CheckInputNotInOutput(files []blocks.File, output, temp string) error {
	output, err := storage.Resolve(output)
	if err != nil {
		return err
	}
	for _, file := range files {
		path, err := storage.Resolve(file.Path)
		if err != nil {
			return err
		}
		_, inOutput := storage.Rel(output, path)
		if _, inTemp := storage.Rel(temp, file.Path); inOutput && !inTemp {
			return Usage("the input %s is below the output %s, which would be replaced; choose another output", file.Path, output)
		}
	}
	return nil
}

// InTempFolder calls do with a folder for temporary files below parent, "" for the system's, and removes
// it at the end, interrupted or not.
func InTempFolder(ctx context.Context, parent string, do func(temp string) error) error {
	temp, err := storage.TempFolder(ctx, parent)
	if err != nil {
		return err
	}
	return errors.Join(do(temp), storage.RemoveAll(context.WithoutCancel(ctx), temp))
}
