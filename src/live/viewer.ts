// What a caller may see of a list now. Streams of the same caller and list share the check, which is made again before
// changes are sent, and from time to time.
import { errorTable, ServiceError } from '../core/errors.ts';
import type { UserId } from '../core/permissions/principals.ts';
import type { Context } from '../engine/context.ts';
import type { ListAccess } from '../engine/access.ts';
import { findAbove, openScope, type Scope } from '../engine/scope.ts';
import { requireReadAccess } from '../engine/verbs/list.ts';
import { requireOpenList } from '../engine/visibility.ts';

/** What the owner of viewers does with their findings. */
export interface ViewerListener {
  /** The caller may not see the list any more. */
  refused(viewer: Viewer, error: ServiceError): void;
  /** The caller sees other objects than before. */
  accessChanged(viewer: Viewer): void;
}

export class Viewer {
  readonly key: string;
  readonly userId: UserId | undefined;
  /** Time of the last check, by the clock of `performance.now()`. */
  checkedAt = performance.now();
  readonly #renew: Context['renew'];
  readonly #kind: Scope['kind'];
  readonly #options: Scope['options'];
  readonly #listener: ViewerListener;
  #ids: readonly string[] | undefined;

  constructor(key: string, scope: Scope, access: ListAccess, listener: ViewerListener) {
    this.key = key;
    this.userId = scope.context.caller.userId;
    this.#renew = scope.context.renew;
    this.#kind = scope.kind;
    this.#options = scope.options;
    this.#ids = access.ids;
    this.#listener = listener;
  }

  /** Ids of the objects that the caller may see; `undefined`: all. */
  get ids(): readonly string[] | undefined {
    return this.#ids;
  }

  /**
   * Checks identity and access again, and reports what has changed.
   *
   * @throws an error of a backend; nothing may be sent then
   */
  async check(): Promise<void> {
    const startedAt = performance.now();
    const found = await this.#examine();
    this.checkedAt = startedAt;
    if (found instanceof ServiceError) {
      this.#listener.refused(this, found);
      return;
    }
    const isSame = areSame(this.#ids, found.ids);
    this.#ids = found.ids;
    if (!isSame) this.#listener.accessChanged(this);
  }

  /** Runs a task in the scope of the request, begun again. */
  async inScope<T>(task: (scope: Scope) => Promise<T>): Promise<T> {
    const { context, end } = await this.#renew();
    try {
      return await task(await openScope(this.#kind, this.#options, context));
    } finally {
      await end();
    }
  }

  async #examine(): Promise<ListAccess | ServiceError> {
    try {
      return await this.inScope(async (scope) => {
        if (scope.context.caller.userId !== this.userId) throw new ServiceError('missingAuthToken');
        requireOpenList(scope);
        const [access, { missing }] = await Promise.all([
          requireReadAccess(scope),
          findAbove(scope, scope.context.unit.reader),
        ]);
        if (missing !== undefined) throw missing;
        return access;
      });
    } catch (error) {
      if (!(error instanceof ServiceError) || errorTable[error.key].status >= 500) throw error;
      // Anonymous callers have no credentials that could have expired.
      return error.key === 'missingAuthToken' && this.userId === undefined ? new ServiceError('forbidden') : error;
    }
  }
}

function areSame(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.length !== b.length) return false;
  const all = new Set(a);
  return b.every((id) => all.has(id));
}
