package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Names become parts of paths.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

var errNoRoom = errors.New("the node has no room for it")

// volumeStore keeps a file for each volume: FOLDER/NODE/NAME. The volume's id is NODE/NAME.
type volumeStore struct {
	folder   string
	capacity int64
	lock     sync.Mutex
}

type volume struct {
	node, name string
	size       int64
}

func (v volume) id() string { return v.node + "/" + v.name }

func (s *volumeStore) path(v volume) string { return filepath.Join(s.folder, v.node, v.name) }

// byID answers os.ErrNotExist for a volume that is not there, and for what is no id.
func (s *volumeStore) byID(id string) (volume, error) {
	node, name, found := strings.Cut(id, "/")
	if !found || !plainName.MatchString(node) || !plainName.MatchString(name) {
		return volume{}, fmt.Errorf("%q: %w", id, os.ErrNotExist)
	}
	v := volume{node: node, name: name}
	stat, err := os.Stat(s.path(v))
	if err != nil {
		return volume{}, err
	}
	v.size = stat.Size()
	return v, nil
}

// byName looks on every node.
func (s *volumeStore) byName(name string) (volume, bool) {
	nodes, _ := os.ReadDir(s.folder)
	for _, node := range nodes {
		if v, err := s.byID(node.Name() + "/" + name); err == nil {
			return v, true
		}
	}
	return volume{}, false
}

// create makes a volume that reads as zeros and takes no room yet.
func (s *volumeStore) create(v volume) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if v.size > s.free(v.node) {
		return errNoRoom
	}
	if err := os.MkdirAll(filepath.Join(s.folder, v.node), 0o700); err != nil {
		return err
	}
	// Under its name only once it has its size: byName must not find half of one.
	unfinished := filepath.Join(s.folder, v.node, "."+v.name)
	file, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(file.Truncate(v.size), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(unfinished, s.path(v))
}

// free counts what the volumes of a node may grow to, not what they take.
func (s *volumeStore) free(node string) int64 {
	left := s.capacity
	files, _ := os.ReadDir(filepath.Join(s.folder, node))
	for _, file := range files {
		if info, err := file.Info(); err == nil {
			left -= info.Size()
		}
	}
	return max(left, 0)
}

// device is the loop device of a file, or "" if it has none.
func device(file string) (string, error) {
	output, err := run("losetup", "--noheadings", "--output", "NAME", "--associated", file)
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(output, "\n")
	return strings.TrimSpace(name), nil
}

func attach(file string) (string, error) {
	if found, err := device(file); found != "" || err != nil {
		return found, err
	}
	output, err := run("losetup", "--find", "--show", file)
	return strings.TrimSpace(output), err
}

func detach(file string) error {
	found, err := device(file)
	if found == "" || err != nil {
		return err
	}
	_, err = run("losetup", "--detach", found)
	return err
}

// isMounted is true for a path on which something is mounted, be it a folder or a file.
func isMounted(path string) (bool, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, err
	}
	for _, line := range strings.Split(string(table), "\n") {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == path {
			return true, nil
		}
	}
	return false, nil
}

func unmount(path string) error {
	if mounted, err := isMounted(path); !mounted || err != nil {
		return err
	}
	_, err := run("umount", path)
	return err
}

func run(command string, args ...string) (string, error) {
	var complaint strings.Builder
	process := exec.Command(command, args...)
	process.Stderr = &complaint
	output, err := process.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(complaint.String()))
	}
	return string(output), nil
}
