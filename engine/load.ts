export { DecoderError } from "./errors.ts";
export { type BuildLimits, buildImage } from "./image/build.ts";
export { type DecodedSnapshot, decodeSnapshot } from "./snapshot/decode.ts";
