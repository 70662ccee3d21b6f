import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { Limits } from "../../server/accounts/limits.ts";
import { monthOf } from "../../server/shared/months.ts";
import { maxAccounts, maxBurst, maxQuota } from "../../server/shared/plans.ts";

/** Tests that counting requests takes no memory per request. */

const month = monthOf(Date.UTC(2026, 0, 15));
const limits = new Limits();

test("a million accounts fit in 64 MB, and one more is refused", () => {
  assert.equal(maxAccounts, 1_000_000);
  assert.ok(limits.buffer.byteLength <= 64 * 2 ** 20);
  const last = maxAccounts - 1;
  limits.configure(last, 1, 2);
  limits.enter(last, month, 0);
  assert.deepEqual([limits.admit(last, month, 5000), limits.remaining(last, month)], [1, 1]);
  assert.throws(
    () => limits.configure(maxAccounts, 1, 1),
    new RangeError("account slot is 1000000, expected below 1000000"),
  );
});

test("an admitted request allocates nothing", () => {
  // The young generation is so large that it isn't collected here. A heap number per request would take 16 MB.
  const script = `
    import { Limits } from ${JSON.stringify(new URL("../../server/accounts/limits.ts", import.meta.url).href)};
    const limits = new Limits();
    limits.configure(0, ${maxBurst}, ${maxQuota});
    limits.enter(0, ${month}, 0);
    const run = (start) => {
      let admitted = 0;
      for (let i = 0; i < 1e6; i++) if (limits.admit(0, ${month}, start + (i >> 2)) >= 0) admitted++;
      return admitted;
    };
    // Takes the minimum of several runs. Numbers are boxed until the compiler has optimised the code, which can take
    // long on a busy machine.
    let admitted = 0;
    let bytes = Infinity;
    for (let round = 1; round <= 6; round++) {
      const before = process.memoryUsage().heapUsed;
      admitted += run(round * 1e6);
      bytes = Math.min(bytes, Math.abs(process.memoryUsage().heapUsed - before));
    }
    process.stdout.write(JSON.stringify({ admitted, bytes }));`;
  const young = ["--min-semi-space-size=64", "--max-semi-space-size=64"];
  const output = execFileSync(process.execPath, [...young, "--input-type=module", "--eval", script]);
  const { admitted, bytes } = JSON.parse(output.toString());
  assert.equal(admitted, 6e6);
  assert.ok(bytes < 1e6, `a million requests took ${bytes} bytes`);
});
