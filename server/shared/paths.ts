import { DataError, shown } from "../../engine/query.ts";

export const pathExpected =
  "a path without a blank or quote at its beginning or end, ~ or $ at its beginning, a comment or a control character";

/**
 * Whether a text is a plain path. A service manager or a container reads settings without a shell, so a quote, a comment
 * or `~` would become a part of the path.
 */
export function isPlainPath(text: string): boolean {
  return /^(?![\s"'`“”‘’~$])[^\p{Cc}]*(?<![\s"'`“”‘’])$/u.test(text) && text !== "" && !/\s#/.test(text);
}

/** Returns the path in an environment variable, or the default. @throws DataError when the path isn't a plain path */
export function pathIn(environment: NodeJS.ProcessEnv, name: string, byDefault: string): string {
  const path = environment[name] ?? byDefault;
  if (!isPlainPath(path)) throw new DataError(name, shown(path), pathExpected);
  return path;
}
