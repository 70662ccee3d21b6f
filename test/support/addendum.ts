import type { HcpcsCode } from "../../engine/index.ts";

/** Files like CMS's OPPS Addendum B. The descriptors are invented, because CPT's are under copyright. */

const title = [
  '"Addendum B.-Final OPPS Payment by HCPCS Code for CY 2023",,,,,',
  "These descriptors are invented for tests,,,,,",
  ",,,,,",
];
const header =
  'HCPCS Code,Short Descriptor,SI,APC,Relative Weight,Payment Rate,"Note: Actual copayments\nwould be lower",* Indicates a Change';

export function addendum(...lines: string[]): string {
  return [...title, header, ...lines, ""].join("\r\n");
}

export const codeLine = (code: string, apc = "", description = `Invented ${code}`, status = "J1") =>
  `${code},${description},${status},${apc},151.2253,"$8,200.26 ",,`;

export const hcpcs = (code: string, procedure: string, description = `Invented ${code}`): HcpcsCode => ({
  ...{ code, procedure, status: "J1", description },
});
