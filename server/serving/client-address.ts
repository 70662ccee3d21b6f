import type { HttpRequest, HttpResponse } from "./listener.ts";

/** Finds the address of a request's client. */

/** The parts of a request from which the client's address is determined. */
export interface AddressParts {
  /** All X-Forwarded-For headers, joined by commas. */
  forwardedFor: string;
  /** IP address of the socket. */
  address: string;
}

export function addressPartsOf(res: HttpResponse, req: HttpRequest): AddressParts {
  const forwarded: string[] = [];
  req.forEach((name, value) => {
    if (name === "x-forwarded-for") forwarded.push(value);
  });
  return {
    forwardedFor: forwarded.join(","),
    address: Buffer.from(res.getRemoteAddressAsText()).toString("latin1"),
  };
}

/**
 * The n-th entry from the right of X-Forwarded-For, where n is `TRUSTED_PROXIES`. Without this header or with n = 0,
 * the result is the socket's address.
 *
 * @returns `unknown` if the header has fewer entries or the entry is empty
 */
export function clientAddress({ forwardedFor, address }: AddressParts, trustedProxies: number): string {
  if (trustedProxies === 0 || forwardedFor === "") return address;
  return forwardedFor.split(",").at(-trustedProxies)?.trim() || "unknown";
}
