import { readFileSync } from "node:fs";

/** Current (VmRSS) or peak (VmHWM) resident memory. Linux only. */
export function memoryBytes(field: "VmRSS" | "VmHWM", pid: number = process.pid): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status) ?? [];
  if (kib === undefined) throw new Error(`process ${pid} has no ${field}, expected a running one`);
  return Number(kib) * 1024;
}
