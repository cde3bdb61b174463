/**
 * Paths inside a container image: from its root, without a slash in front, never outside. Pure.
 */

/** As `a/b`; empty for the root. `..` cannot leave the root. */
export function imagePath(name: string): string {
  const parts: string[] = [];
  for (const part of name.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/**
 * Where a symbolic link leads.
 * @param path of the link itself
 */
export function linkTarget(path: string, link: string): string {
  return imagePath(link.startsWith("/") ? link : `${folderOf(path)}/${link}`);
}

/** Empty for what lies in the root. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Everything lies below the root. */
export function isBelow(path: string, folder: string): boolean {
  return folder === "" ? path !== "" : path.startsWith(`${folder}/`);
}
