// A client of Siglum's gateway. `Gateway` has a method for each operation.

export type { ProblemCode } from "./codes.js";
export { Drive, type DriveSettings, Turn } from "./drive.js";
export { Gateway } from "./gateway.js";
export type { Query } from "./operations.js";
export { ProblemError, Unreachable } from "./problem.js";
export type * from "./schema.js";
export type { CallOptions, JsonObject, Settings } from "./transport.js";
