import { isIP, isIPv6 } from "node:net";
import type { HttpResponse } from "./listener.ts";
import { listIn, type RequestHead } from "./reply.ts";

export interface AddressParts {
  /** All X-Forwarded-For headers, joined by commas. */
  forwardedFor: string;
  address: string;
}

export function addressPartsOf(res: HttpResponse, req: Pick<RequestHead, "forEach">): AddressParts {
  return {
    forwardedFor: listIn(req, "x-forwarded-for"),
    address: Buffer.from(res.getRemoteAddressAsText()).toString("latin1"),
  };
}

/**
 * Returns the n-th entry from the right of X-Forwarded-For, where n is `TRUSTED_PROXIES`; `unknown` if that entry is
 * missing or empty. If the header is missing or empty, or n is 0, returns the socket's address.
 */
export function clientAddress({ forwardedFor, address }: AddressParts, trustedProxies: number): string {
  if (trustedProxies === 0 || forwardedFor === "") return address;
  return forwardedFor.split(",").at(-trustedProxies)?.trim() || "unknown";
}

/** Matches the forms that some proxies write: `192.0.2.1:1234`, `[2001:db8::1]:1234` or `[2001:db8::1]`. */
const withPort = /^(?:\[([^\]]+)\](?::\d*)?|([\d.]+):\d*)$/;

/**
 * Makes the name for counting a client's requests: an IPv4 address, even if mapped into IPv6, or the /64 of an IPv6
 * address. All other texts have the same name. Otherwise a sender could become many clients by changing the text.
 */
export function clientOf(address: string): string {
  const [, inBrackets, beforePort] = withPort.exec(address) ?? [];
  const [plain] = (inBrackets ?? beforePort ?? address).split("%");
  if (isIP(plain) === 0) return "unknown";
  if (!isIPv6(plain)) return plain;
  // `URL` writes an address in lower case and without dotted parts.
  const written = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  const [, ...mapped] = /^::ffff:(\w+):(\w+)$/.exec(written) ?? [];
  if (mapped.length > 0) {
    const words = mapped.map((group) => Number.parseInt(group, 16));
    return words.flatMap((word) => [word >> 8, word & 255]).join(".");
  }
  const [head, tail = []] = written.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
