/**
 * One image transfer of an oVirt engine, from its making to its end. While it lasts the disk is locked and one host serves it
 * at a URL of its own; a transfer that is not ended keeps the disk locked until the engine loses patience.
 */
import type { Warning } from "../../formats/disk-format.ts";
import { Interrupted, SourceError } from "../errors.ts";
import type { Pace } from "../http/pace.ts";
import type { TransferState } from "./engine-answer.ts";
import type { OvirtEngine } from "./engine-api.ts";

/** How long until the engine is asked again whether a host is ready. */
const INITIALIZING_MS = 1000;

/** How long until a disk that something else works on is tried again; there is no limit to how often. */
const LOCKED_MS = 15_000;

const CLEAN_UP_TRIES = 10;
const CLEAN_UP_MS = 2000;

/** Phases in which there is nothing left to do. */
const OVER = /^(?:cancelled|finalizing|finished)/;

export class ImageTransfer {
  readonly id: string;
  /** A secret. */
  readonly url: string;
  readonly #engine: OvirtEngine;
  readonly #pace: Pace;

  private constructor(id: string, url: string, engine: OvirtEngine, pace: Pace) {
    this.id = id;
    this.url = url;
    this.#engine = engine;
    this.#pace = pace;
  }

  /**
   * Makes a transfer and waits until it can begin. One that cannot is ended before this throws.
   * @throws SourceError SOURCE_UNAVAILABLE; Interrupted
   */
  static async start(engine: OvirtEngine, diskId: string, pace: Pace, signal: AbortSignal): Promise<ImageTransfer> {
    const made = await makeTransfer(engine, diskId, pace, signal);
    try {
      const url = await readyUrl(engine, made, pace, signal);
      return new ImageTransfer(made.id, url, engine, pace);
    } catch (error) {
      await endTransfer(engine, made.id, false, pace);
      throw error;
    }
  }

  /** Keeps the engine from losing patience. */
  async extend(): Promise<void> {
    await this.#engine.act(this.id, "extend");
  }

  /** Unlocks the disk. Never fails; the answer says what was left behind. */
  async end(succeeded: boolean): Promise<Warning | undefined> {
    return await endTransfer(this.#engine, this.id, succeeded, this.#pace);
  }
}

async function makeTransfer(
  engine: OvirtEngine,
  diskId: string,
  pace: Pace,
  signal: AbortSignal,
): Promise<TransferState> {
  for (;;) {
    const made = await engine.createTransfer(diskId);
    if (made !== "locked") return made;
    await pause(LOCKED_MS, pace, signal);
  }
}

async function readyUrl(engine: OvirtEngine, made: TransferState, pace: Pace, signal: AbortSignal): Promise<string> {
  let state: TransferState | undefined = made;
  while (state?.phase === "initializing") {
    await pause(INITIALIZING_MS, pace, signal);
    state = await engine.transfer(made.id, { signal });
  }
  if (state?.phase === "transferring" && state.url !== undefined) return state.url;
  throw new SourceError("SOURCE_UNAVAILABLE", `the image transfer of ${engine.host} ${troubleOf(state)}`, {
    remedy: "The engine's events tell why.",
  });
}

function troubleOf(state: TransferState | undefined): string {
  if (state === undefined) return "vanished before it began";
  return state.phase === "transferring" ? "has no URL" : `does not begin: its phase is ${state.phase}`;
}

/** The engine may be out of reach for a moment, or not let go yet. Not to be interrupted: it is what follows an interruption. */
async function endTransfer(
  engine: OvirtEngine,
  id: string,
  succeeded: boolean,
  pace: Pace,
): Promise<Warning | undefined> {
  const { signal } = new AbortController();
  for (let attempt = 1; ; attempt++) {
    try {
      const state = await engine.transfer(id, { repeats: false });
      if (state === undefined || OVER.test(state.phase)) return undefined;
      await engine.act(id, succeeded && state.phase === "transferring" ? "finalize" : "cancel");
      return undefined;
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      if (attempt === CLEAN_UP_TRIES) return leftBehind(engine, id, error);
      await pace.delay(CLEAN_UP_MS, signal);
    }
  }
}

function leftBehind(engine: OvirtEngine, id: string, error: SourceError): Warning {
  const message = `image transfer ${id} of ${engine.host} could not be ended (${error.message}); the disk stays locked until the engine ends it`;
  return { code: "IMAGEIO_TRANSFER_LEFT", message };
}

/** @throws Interrupted */
export async function pause(ms: number, pace: Pace, signal: AbortSignal): Promise<void> {
  try {
    await pace.delay(ms, signal);
  } catch (error) {
    if (signal.aborted) throw new Interrupted();
    throw error;
  }
}
