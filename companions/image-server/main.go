// Command image-server hands out the disk image of a container image to the importer beside it.
//
// For the pull method "node" the kubelet pulls the user's image and starts this program in it, so that nothing else is
// needed there: no interpreter, no libc, no file of ours but this one. It serves one file on this machine only, says that it
// is ready, and ends when the importer says that it is done. Names, flags, port and files are those of KubeVirt CDI's server.
package main

import (
	"errors"
	"flag"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	donePollInterval = time.Second
	// A client that says nothing for so long is none.
	headerTimeout = time.Minute
	// A request has one line and a few headers.
	maxHeaderBytes = 64 << 10
	// As a shell says it of a program that SIGTERM ended.
	exitTerminated = 128 + int(syscall.SIGTERM)
)

func main() {
	port := flag.Uint("p", 8100, "port on the loopback interfaces")
	imageDir := flag.String("image-dir", ".", "directory that holds the disk image, and no other file")
	readyFile := flag.String("ready-file", "/shared/ready", "written with the image's name once it can be fetched")
	doneFile := flag.String("done-file", "/shared/done", "appears when the image is not needed any more")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("image-server: ")

	// The first process of a container gets no signal that it does not ask for.
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-terminated
		os.Exit(exitTerminated)
	}()

	if err := run(*port, *imageDir, *readyFile, *doneFile); err != nil {
		log.Fatal(err)
	}
}

// run serves until the done file is there.
func run(port uint, imageDir, readyFile, doneFile string) error {
	if flag.NArg() > 0 {
		return errors.New("takes no arguments, only flags: " + flag.Arg(0))
	}
	if err := refuseBootc("/"); err != nil {
		return err
	}
	image, err := findImage(imageDir)
	if err != nil {
		return err
	}
	listeners, err := listen(port)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newHandler(image, os.Environ()),
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	failed := make(chan error, len(listeners))
	for _, listener := range listeners {
		log.Printf("serves %q (%d bytes) on %s", image.name, image.info.Size(), listener.Addr())
		go func(listener net.Listener) { failed <- server.Serve(listener) }(listener)
	}
	if err := announce(readyFile, image.name); err != nil {
		return err
	}
	return waitUntilDone(readyFile, doneFile, failed)
}

// listen binds this machine's own addresses. By number: an image without /etc/hosts cannot look localhost up. A machine may
// have only one kind of them; a port that somebody else holds is an error, for that one would be asked for the image.
func listen(port uint) ([]net.Listener, error) {
	var listeners []net.Listener
	var missing error
	for _, address := range []string{"127.0.0.1", "::1"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.FormatUint(uint64(port), 10)))
		switch {
		case err == nil:
			listeners = append(listeners, listener)
		case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
			missing = err
		default:
			return nil, err
		}
	}
	if len(listeners) == 0 {
		return nil, missing
	}
	return listeners, nil
}

// announce writes the ready file in one step: whoever sees it sees the whole name.
func announce(readyFile, name string) error {
	partial := filepath.Join(filepath.Dir(readyFile), "."+filepath.Base(readyFile)+".partial")
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(partial, []byte(name), 0o600); err != nil {
		return err
	}
	return os.Rename(partial, readyFile)
}

func waitUntilDone(readyFile, doneFile string, failed <-chan error) error {
	for {
		if _, err := os.Stat(doneFile); err == nil {
			log.Print("is not needed any more")
			for _, file := range []string{readyFile, doneFile} {
				if err := os.Remove(file); err != nil {
					log.Print(err)
				}
			}
			return nil
		}
		select {
		case err := <-failed:
			return err
		case <-time.After(donePollInterval):
		}
	}
}
