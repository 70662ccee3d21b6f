import type { HcpcsCode } from "../../engine/index.ts";

/** OPPS Addendum B as CMS lays it out. The descriptors are invented: those of CPT codes are the American Medical Association's. */

const title = [
  '"Addendum B.-Final OPPS Payment by HCPCS Code for CY 2023",,,,,',
  "These descriptors are invented for tests,,,,,",
  ",,,,,",
];
const header =
  'HCPCS Code,Short Descriptor,SI,APC,Relative Weight,Payment Rate,"Note: Actual copayments\nwould be lower",* Indicates a Change';

/** An addendum with these lines below its header. */
export function addendum(...lines: string[]): string {
  return [...title, header, ...lines, ""].join("\r\n");
}

/** A line of an addendum. */
export const codeLine = (code: string, apc = "", description = `Invented ${code}`, status = "J1") =>
  `${code},${description},${status},${apc},151.2253,"$8,200.26 ",,`;

export const hcpcs = (code: string, procedure: string, description = `Invented ${code}`): HcpcsCode => ({
  ...{ code, procedure, status: "J1", description },
});
