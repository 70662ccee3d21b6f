import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { packBundles } from "./web-assets.ts";

/** Writes the bundles of all parts' pages into the npm package, so that an installed server bundles nothing. */

const server = dirname(import.meta.dirname);
packBundles(globSync("parts/*/browser", { cwd: server }).map((folder) => join(folder, "..")));
