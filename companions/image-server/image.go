// Which file is served: the only one of a directory, and nothing that lies outside of it.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An image is a regular file, kept by what it was when it was found.
type image struct {
	name string
	path string
	info fs.FileInfo
}

// refuseBootc says no to an image that boots as it is: it holds an operating system, not a disk.
func refuseBootc(root string) error {
	for _, name := range []string{"sysroot", "ostree"} {
		if info, err := os.Stat(filepath.Join(root, name)); err == nil && info.IsDir() {
			return fmt.Errorf("bootc image detected: there is a directory /%s; an image with a disk in it is needed", name)
		}
	}
	return nil
}

func findImage(dir string) (*image, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("%s holds %d files, and must hold exactly one, the disk image%s", dir, len(names), list(names))
	}
	name := names[0]
	if "/"+name == infoPath {
		return nil, fmt.Errorf("the disk image must not be named %q: %s says something else", name, infoPath)
	}
	path, err := insideOf(dir, name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Join(dir, name))
	}
	found := &image{name: name, path: path, info: info}
	file, err := found.open() // without the permission to read, nothing is ready
	if err != nil {
		return nil, err
	}
	return found, file.Close()
}

// insideOf follows links, within dir only: a disk image may not name the secrets that are mounted beside it.
func insideOf(dir, name string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(dir, path)
	if err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
		return "", fmt.Errorf("%s is a link that leads out of the directory", filepath.Join(dir, name))
	}
	return path, nil
}

// open opens the file that was found, and no other that took its place. Each request has a descriptor of its own, so that
// the kernel can send the file without copying it through this program.
func (i *image) open() (*os.File, error) {
	file, err := os.Open(i.path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (!os.SameFile(i.info, info) || info.Size() != i.info.Size() || !info.ModTime().Equal(i.info.ModTime())) {
		err = errors.New("the disk image is not the one that was found at the start")
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// etag is strong: it names the very bytes, as the file of an image never changes.
func (i *image) etag() string {
	return fmt.Sprintf(`"%x-%x"`, i.info.Size(), i.info.ModTime().UnixNano())
}

func list(names []string) string {
	const most = 5
	if len(names) == 0 {
		return ""
	}
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return ": " + strings.Join(names, ", ")
}
