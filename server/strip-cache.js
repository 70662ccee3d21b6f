import { hash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { threadId } from "node:worker_threads";

/**
 * Caches TypeScript modules without their types, beside Node's compile cache. Otherwise each thread would load a
 * compiler to strip the types, which takes half of a start's time. Preload this module by `--import`. An installed
 * package always needs it, because Node doesn't strip types below `node_modules`. It is JavaScript, so that it needs no
 * stripping.
 */

const folder = process.env.NODE_COMPILE_CACHE;

/** @param {string} source */
function strip(source) {
  // Suppresses Node's warning about `stripTypeScriptTypes`.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Strips the types from TypeScript, and caches the result if there is a compile cache. @param {string} source */
export function stripTypes(source) {
  return kept(`${hash("sha256", process.version + source)}.js`, () => Buffer.from(strip(source))).toString();
}

/**
 * Makes a file's content once and caches it, if there is a compile cache.
 *
 * @param {string} name the cache file's name, which has to differ for different contents
 * @param {() => Buffer} make
 */
export function kept(name, make) {
  if (!folder) return make();
  const path = join(folder, name);
  // Marks the end of the file, so that a partly written file is detected.
  const end = `\n//${name}`;
  try {
    const found = readFileSync(path);
    const length = found.length - end.length;
    if (found.toString("latin1", Math.max(0, length)) === end) return found.subarray(0, length);
  } catch {}
  const made = make();
  try {
    mkdirSync(folder, { recursive: true });
    const unfinished = `${path}.${process.pid}.${threadId}`;
    writeFileSync(unfinished, Buffer.concat([made, Buffer.from(end)]));
    renameSync(unfinished, path);
  } catch {}
  return made;
}

registerHooks({
  load(url, context, next) {
    if (context.format !== "module-typescript") return next(url, context);
    const loaded = next(url, context);
    return { ...loaded, format: "module", source: stripTypes(String(loaded.source)) };
  },
});
