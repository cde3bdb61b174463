/**
 * A file, a block device, or anything else that has a path. A pipe or a character device passes once.
 */
import fs from "node:fs";
import { SourceError } from "../errors.ts";
import { FileStream } from "../file-stream.ts";
import { deviceSize } from "../kernel.ts";
import { openRandomAccess } from "../random-access.ts";
import { DescriptorStream } from "./descriptor-stream.ts";
import type { Source } from "./source.ts";

/**
 * Opens `path` for reading only.
 * @throws SourceError SOURCE_NOT_FOUND, SOURCE_DENIED, SOURCE_UNAVAILABLE (a directory, a failing device)
 */
export function openFile(path: string): Source {
  const fd = openDescriptor(path);
  try {
    return describe(path, fd);
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

function openDescriptor(path: string): number {
  try {
    return fs.openSync(path, "r");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new SourceError("SOURCE_NOT_FOUND", `there is no file ${path}`, { cause: error });
    }
    if (code === "EACCES" || code === "EPERM") {
      throw new SourceError("SOURCE_DENIED", `no permission to read ${path}`, { cause: error });
    }
    throw new SourceError("SOURCE_UNAVAILABLE", `cannot open ${path}`, { cause: error });
  }
}

function describe(path: string, fd: number): Source {
  const stat = fs.fstatSync(fd);
  if (stat.isDirectory()) throw new SourceError("SOURCE_UNAVAILABLE", `${path} is a directory, not an image`);
  if (!stat.isFile() && !stat.isBlockDevice()) return passingSource(path, fd);
  const size = stat.isFile() ? stat.size : deviceSize(fd, stat.rdev);
  const file = openRandomAccess({ fd, name: path, size });
  return { name: path, path, size, file, stream: () => new FileStream(file), close: () => fs.closeSync(fd) };
}

function passingSource(path: string, fd: number): Source {
  const stream = new DescriptorStream(fd, path);
  return {
    name: path,
    path: undefined,
    size: undefined,
    file: undefined,
    stream: () => stream,
    close: () => stream.close(),
  };
}
