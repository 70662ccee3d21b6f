import type { HttpRequest, HttpResponse } from "./listener.ts";

/** Finds the address of a request's client. */

/** The parts of a request that the client's address is made from. */
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
 * The n-th entry from the right of X-Forwarded-For, where n is `TRUSTED_PROXIES`; without that header, the socket's
 * address.
 *
 * @returns `unknown` where there are fewer entries or that one is empty
 */
export function clientAddress({ forwardedFor, address }: AddressParts, trustedProxies: number): string {
  if (trustedProxies === 0 || forwardedFor === "") return address;
  return forwardedFor.split(",").at(-trustedProxies)?.trim() || "unknown";
}
