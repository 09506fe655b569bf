package server

import (
	"fmt"

	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/wire"
)

// maxInputs bounds how many standard inputs of one connection may wait for their start.
const maxInputs = 1024

// inputs is the standard input that came for calls which are not started yet, by channel, in nameless files.
type inputs struct {
	folder *kept.Folder
	files  map[uint32]*input
}

// input is one of them. A disk that takes no more is told at the start.
type input struct {
	file    *kept.File
	size    int64
	problem error
}

func newInputs(folder *kept.Folder) inputs { return inputs{folder, map[uint32]*input{}} }

// write keeps a data frame. Only a *wire.Violation comes back.
func (s inputs) write(frame wire.Frame) error {
	if frame.Stream != wire.Stdin {
		return &wire.Violation{Message: "data of an output stream came from the operator"}
	}
	in, err := s.of(frame.Channel)
	if err != nil {
		return err
	}
	if int64(frame.Offset) != in.size {
		return &wire.Violation{Message: fmt.Sprintf("stdin at offset %d, expected %d", frame.Offset, in.size)}
	}
	offset := in.size
	if in.size += int64(len(frame.Payload)); in.size > wire.MaxStdin {
		return &wire.Violation{Message: fmt.Sprintf("stdin of more than %d bytes", wire.MaxStdin)}
	}
	if in.problem == nil {
		_, in.problem = in.file.WriteAt(frame.Payload, offset)
	}
	return nil
}

func (s inputs) of(channel uint32) (*input, error) {
	if in, there := s.files[channel]; there {
		return in, nil
	}
	if len(s.files) >= maxInputs {
		return nil, &wire.Violation{Message: fmt.Sprintf("stdin of more than %d calls that were not started", maxInputs)}
	}
	in := &input{}
	in.file, in.problem = s.folder.Nameless()
	s.files[channel] = in
	return in, nil
}

// take gives the input of a channel, to read from its beginning and not to write; nil when there is none. Errors: *calls.Unavailable, or that it has
// another size.
func (s inputs) take(channel uint32, size int64) (*kept.File, error) {
	in, there := s.files[channel]
	if !there && size == 0 {
		return nil, nil
	}
	if !there {
		return nil, fmt.Errorf("stdinSize is %d, and nothing came", size)
	}
	defer s.drop(channel)
	if in.size != size {
		return nil, fmt.Errorf("stdinSize is %d, and %d bytes came", size, in.size)
	}
	if in.problem != nil {
		return nil, &calls.Unavailable{Reason: fmt.Sprintf("stdin could not be kept: %v", in.problem)}
	}
	file, err := in.file.ReadOnly()
	if err != nil {
		return nil, &calls.Unavailable{Reason: fmt.Sprintf("stdin could not be opened: %v", err)}
	}
	return file, nil
}

// drop forgets the input of a channel.
func (s inputs) drop(channel uint32) {
	if in, there := s.files[channel]; there {
		delete(s.files, channel)
		_ = in.file.Close()
	}
}

func (s inputs) close() {
	for channel := range s.files {
		s.drop(channel)
	}
}
