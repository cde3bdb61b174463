/**
 * What the API server answered instead of what was asked for. `reason` is Kubernetes' own word for it (Status.reason), which
 * tells apart what shares a status: Conflict and AlreadyExists are both 409.
 */

/** Longer messages are cut: they go into conditions and logs. */
const MAX_MESSAGE_CHARACTERS = 1024;

export class ApiError extends Error {
  readonly status: number;
  /** `Conflict`, `NotFound`, `Forbidden`; empty where the server gave none. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message.slice(0, MAX_MESSAGE_CHARACTERS));
    this.name = "ApiError";
    this.status = status;
    this.reason = reason;
  }

  get isNotFound(): boolean {
    return this.status === 404;
  }

  get isConflict(): boolean {
    return this.status === 409 && this.reason !== "AlreadyExists";
  }

  get alreadyExists(): boolean {
    return this.status === 409 && this.reason === "AlreadyExists";
  }

  /** The resourceVersion is too old to watch from: everything is to be listed again. */
  get isExpired(): boolean {
    return this.status === 410 || this.reason === "Expired";
  }

  /** Asking again at once would be answered the same: forbidden, over quota, invalid. */
  get isRefusal(): boolean {
    return this.status === 400 || this.status === 403 || this.status === 422;
  }
}

/** @param body whatever came with the status: a Status object, or a proxy's page */
export function apiErrorOf(status: number, body: string): ApiError {
  try {
    const parsed: unknown = JSON.parse(body);
    if (isStatus(parsed)) {
      const { reason, message } = parsed;
      return new ApiError(status, text(reason) ?? "", text(message) ?? `the API server answered ${status}`);
    }
  } catch {
    // No JSON: something between us and the API server speaks.
  }
  return new ApiError(status, "", `the API server answered ${status}`);
}

/** The object in a watch event of type ERROR. */
export function apiErrorOfStatus(status: unknown): ApiError {
  const { code, reason, message } = isStatus(status) ? status : {};
  return new ApiError(typeof code === "number" ? code : 500, text(reason) ?? "", text(message) ?? "the watch failed");
}

interface Status {
  readonly code?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
}

function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "Status";
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
