package commit

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/neardup/neardup/io/storage"
	"github.com/neardup/neardup/output"
	"github.com/neardup/neardup/records"
)

// listing is the content of a folder, without a lock, staging folders, and files that a killed run was writing.
type listing struct {
	dir     string
	files   map[string]storage.Info // by name below dir
	folders []string                // names below dir
	hidden  []string                // paths of files that a killed run was writing
}

// listIn lists a folder, and enters the subfolders that enter accepts; nil accepts all.
func listIn(ctx context.Context, dir string, enter func(name string) bool) (*listing, error) {
	store, err := storage.At(dir)
	if err != nil {
		return nil, err
	}
	l := &listing{dir: dir, files: map[string]storage.Info{}}
	found := store.List(ctx, dir, func(name string) bool {
		if name == belowDir {
			return false
		}
		l.folders = append(l.folders, name)
		return enter == nil || enter(name)
	})
	for info, err := range found {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		name, _ := storage.Rel(dir, info.Path)
		switch {
		case name == output.LockFile:
		case storage.BeingWritten(path.Base(name)) && info.Type == 0:
			l.hidden = append(l.hidden, info.Path)
		default:
			l.files[name] = info
		}
	}
	return l, nil
}

func list(ctx context.Context, dir string) (*listing, error) { return listIn(ctx, dir, nil) }

// names returns the names of the files, in order.
func (l *listing) names() []string { return slices.Sorted(maps.Keys(l.files)) }

// foldersUp returns the paths of all folders, each after those in it.
func (l *listing) foldersUp() []string {
	paths := []string{l.dir}
	for _, name := range slices.Sorted(slices.Values(l.folders)) {
		paths = append(paths, storage.Join(l.dir, name))
	}
	slices.Reverse(paths)
	return paths
}

// tidy removes files that a killed run was writing, and empty folders.
func (l *listing) tidy(ctx context.Context) error {
	for _, path := range l.hidden {
		if err := storage.RemoveAll(ctx, path); err != nil {
			return err
		}
	}
	for _, folder := range l.foldersUp() {
		if folder != l.dir {
			storage.RemoveEmpty(folder)
		}
	}
	return nil
}

// paths returns the paths of all files, and then of all folders.
func (l *listing) paths() []string {
	var paths []string
	for _, name := range l.names() {
		paths = append(paths, l.files[name].Path)
	}
	return append(paths, l.foldersUp()...)
}

// survey describes the content of an output folder.
type survey struct {
	*listing
	record   *runRecord // of the run that wrote the folder, or nil
	finished bool
	foreign  map[string]bool   // names that are not neardup's
	sums     map[string]string // SHA-256 of the files in the manifest
	locked   bool              // a run is at work, or was when it was killed
}

// look lists an output folder, and finds out which files are neardup's: those that its manifest, the record of a failed
// run, or the given seals name. It does not enter folders of others.
func look(ctx context.Context, dir string, seals ...*seal) (*survey, error) {
	s := &survey{foreign: map[string]bool{}}
	ours, err := s.identify(ctx, dir, seals)
	if err != nil {
		return nil, err
	}
	above := map[string]bool{} // the folders above our files
	for name := range ours {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			above[folder] = true
		}
	}
	s.listing, err = listIn(ctx, dir, func(name string) bool {
		if !above[name] {
			s.foreign[name] = true
		}
		return above[name]
	})
	if err != nil {
		return nil, err
	}
	for name, info := range s.files {
		if info.Type != 0 || !ours[name] {
			s.foreign[name] = true
		}
	}
	return s, s.lookHidden(ctx)
}

// lookHidden adds files of others whose names a running job uses.
func (s *survey) lookHidden(ctx context.Context) error {
	data, info, ok, err := readSmall(ctx, storage.Join(s.dir, output.LockFile), maxMark)
	if err != nil {
		return err
	}
	var lock struct{ Job string }
	s.locked = ok && (len(data) == 0 || json.Unmarshal(data, &lock) == nil && lock.Job != "")
	if info.Path != "" && !s.locked {
		s.foreign[output.LockFile] = true
	}
	names, err := storage.NamesIn(ctx, storage.Join(s.dir, belowDir))
	for _, name := range names {
		if _, ok := runOf(name); !ok {
			s.foreign[belowDir+"/"+name] = true
		}
	}
	return err
}

// identify returns the names of neardup's files in a folder.
func (s *survey) identify(ctx context.Context, dir string, seals []*seal) (map[string]bool, error) {
	ours := map[string]bool{}
	for _, seal := range seals {
		for _, f := range seal.Files {
			ours[f.Name] = true
		}
		for _, f := range seal.Old {
			ours[f.Name] = true
		}
	}
	record, err := readRecord(ctx, dir)
	if err != nil || record == nil {
		return ours, err
	}
	mark, marked, err := readSuccess(ctx, dir)
	if err != nil {
		return nil, err
	}
	manifest, sum, err := readManifest(ctx, dir)
	if err != nil {
		return nil, err
	}
	switch {
	case marked && (manifest == nil || record.Status != "done"):
		return ours, nil
	case marked && (mark.Run != record.Job || mark.Manifest != sum):
		return ours, nil
	}
	s.finished = marked
	s.record = record
	for _, name := range append(record.Files, output.RunFile, output.ReportFile, output.ManifestFile, output.SuccessFile) {
		ours[name] = true
	}
	s.sums = map[string]string{}
	if manifest != nil {
		for _, f := range manifest.Files {
			ours[f.Path] = true
			s.sums[f.Path] = f.SHA256
		}
	}
	return ours, nil
}

// stranger returns the first name that is not neardup's, or "".
func (s *survey) stranger() string {
	if len(s.foreign) == 0 {
		return ""
	}
	return slices.Min(slices.Collect(maps.Keys(s.foreign)))
}

// refuse returns a *RefusedError if the folder may not be written.
func (s *survey) refuse(overwrite bool) error {
	switch foreign := s.stranger(); {
	case foreign != "" && s.record == nil:
		return &RefusedError{s.dir + " is not empty and was not written by neardup (it contains " + foreign +
			"); choose another --output"}
	case foreign != "":
		return &RefusedError{storage.Join(s.dir, foreign) + " was not written by neardup; move it, or " +
			"choose another --output"}
	case s.finished && !overwrite:
		return &RefusedError{s.dir + " already contains a finished output; use --overwrite to replace it, or " +
			"choose another --output"}
	}
	return nil
}

// differs returns a *RefusedError if a folder has changed.
func (s *survey) differs(before *survey) error {
	name := ""
	for foreign := range s.foreign {
		if !before.foreign[foreign] {
			name = foreign
		}
	}
	for _, n := range s.names() {
		if was, ok := before.files[n]; name == "" && (!ok || !asOld(n, was).is(s.files[n])) {
			name = n
		}
	}
	for _, n := range before.names() {
		if _, ok := s.files[n]; name == "" && !ok {
			name = n
		}
	}
	if name != "" {
		return &RefusedError{storage.Join(s.dir, name) + " changed while the job was running, so nothing was replaced; run " +
			"again when nothing else is writing there"}
	}
	return nil
}

// remove removes neardup's files, in the versions that were seen, except the file keep, and then empty folders. The
// files that identify the others as neardup's go last.
func (s *survey) remove(ctx context.Context, keep string, as func(version string) storage.If) error {
	store, err := storage.At(s.dir)
	if err != nil {
		return err
	}
	tells := []string{output.ManifestFile, output.RunFile}
	names := slices.DeleteFunc(s.names(), func(name string) bool { return slices.Contains(tells, name) })
	for _, name := range append(names, tells...) {
		info, there := s.files[name]
		if !there || name == keep || s.foreign[name] {
			continue
		}
		err := store.Remove(ctx, info.Path, as(info.Version))
		if errors.Is(err, errors.ErrUnsupported) {
			err = store.Remove(ctx, info.Path, storage.If{})
		}
		if err != nil {
			return err
		}
	}
	return s.tidy(ctx)
}

// readSmall reads a file that should be small, with its state; ok is false if there is no such file, or not a small
// regular one. Without a file, the state is empty.
func readSmall(ctx context.Context, path string, limit int64) (data []byte, info storage.Info, ok bool, err error) {
	store, err := storage.At(path)
	if err != nil {
		return nil, info, false, err
	}
	// Do not open a pipe of that name.
	info, err = store.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, storage.Info{}, false, nil
	}
	if err != nil || info.Type != 0 || info.Size > limit {
		return nil, info, false, err
	}
	r, err := store.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, storage.Info{}, false, nil
	}
	if err != nil {
		return nil, info, false, err
	}
	defer r.Close()
	if info, err = r.Stat(ctx); err != nil {
		return nil, info, false, err
	}
	data, err = io.ReadAll(io.NewSectionReader(r, 0, min(info.Size, limit)))
	return data, info, err == nil, err
}

// Maximum sizes; a larger file is not what its name says.
const (
	maxMark     = 4 << 10
	maxRecord   = 256 << 20
	maxManifest = 4 << 30
)

// runRecord holds the fields of run.json that tell which files belong to the run: parsing all of it, several times a
// run, would cost as much as a run on few documents.
type runRecord struct {
	Job, Status string
	Exit        int
	Files       []string
	Formats     records.Formats
}

// readRecord returns the run.json of a folder, or nil if there is none of neardup's.
func readRecord(ctx context.Context, dir string) (*runRecord, error) {
	data, _, ok, err := readSmall(ctx, storage.Join(dir, output.RunFile), maxRecord)
	if err != nil || !ok {
		return nil, err
	}
	record := &runRecord{}
	if json.Unmarshal(data, record) != nil || !runID.MatchString(record.Job) ||
		!strings.HasPrefix(record.Formats.Tables, "neardup-tables-") {
		return nil, nil
	}
	return record, nil
}

// success is a mark of success, with the state of its file.
type success struct {
	output.Success
	info storage.Info
}

func readSuccess(ctx context.Context, dir string) (mark success, there bool, err error) {
	data, info, there, err := readSmall(ctx, storage.Join(dir, output.SuccessFile), maxMark)
	mark.info = info
	if len(data) > 0 && json.Unmarshal(data, &mark.Success) != nil {
		mark.Run = "unknown"
	}
	return mark, there, err
}

// readManifest returns the manifest of a folder, or nil if there is none, with the SHA-256 of its file.
func readManifest(ctx context.Context, dir string) (m *records.Manifest, sum string, err error) {
	data, _, ok, err := readSmall(ctx, storage.Join(dir, output.ManifestFile), maxManifest)
	if err != nil || !ok {
		return nil, "", err
	}
	m = &records.Manifest{}
	if json.Unmarshal(data, m) != nil || m.Version != 1 {
		return nil, "", nil
	}
	return m, output.Sum(data), nil
}
