import { hash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { threadId } from "node:worker_threads";

/**
 * Keeps what Node makes of TypeScript beside its compile cache, which holds compiled code only: each thread would load
 * and warm up a compiler of its own to strip the same types, half of what a start costs. Other things that starts would
 * make anew are kept there too. To be preloaded by `--import`,
 * in an installed package without a compile cache too: Node strips nothing itself below a `node_modules`. Plain
 * JavaScript, so that it itself needs no compiler.
 */

const folder = process.env.NODE_COMPILE_CACHE;

/** @param {string} source */
function strip(source) {
  // Node strips without a word, but warns of the function that does the same.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * JavaScript of TypeScript, kept where there is a compile cache.
 *
 * @param {string} source
 */
export function stripTypes(source) {
  return kept(`${hash("sha256", process.version + source)}.js`, () => Buffer.from(strip(source))).toString();
}

/**
 * What is made once, where there is a compile cache.
 *
 * @param {string} name a file's name: the same for the same content, and only for that
 * @param {() => Buffer} make
 */
export function kept(name, make) {
  if (!folder) return make();
  const path = join(folder, name);
  // A file that wasn't written to its end doesn't have this one.
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
