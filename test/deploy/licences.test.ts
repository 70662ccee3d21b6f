import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as v from "valibot";

/**
 * Tests that `server/deploy/licences.md` lists every package of an installation without development packages.
 * `server/node --test --test-update-snapshots test/deploy/licences.test.ts` updates the file.
 */

const root = path.resolve(import.meta.dirname, "../..");
const lock = v.object({
  packages: v.record(
    v.string(),
    v.object({
      version: v.string(),
      license: v.optional(v.string()),
      dev: v.optional(v.boolean()),
      os: v.optional(v.union([v.string(), v.array(v.string())]), "linux"),
    }),
  ),
});

test("licences.md lists each production package as in package-lock.json", (t) => {
  const { packages } = v.parse(lock, JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")));
  const rows = Object.entries(packages)
    .filter(([place, { dev, os }]) => place !== "" && dev !== true && os.includes("linux"))
    .map(([place, { version, license }]) => [place.replace(/.*node_modules\//, ""), version, license])
    .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  const table = [["Package", "Version", "Licence"], ["---", "---", "---"], ...rows];
  const list = `# Licences\n\nThe packages that an installation of the service can have, from \`package-lock.json\`; some are for other machines only. Most have their licence's text in their folder below \`node_modules\`.\n\n${table.map((row) => `| ${row.join(" | ")} |\n`).join("")}`;
  t.assert.fileSnapshot(list, path.join(root, "server/deploy/licences.md"), {
    serializers: [(value) => String(value)],
  });
});
