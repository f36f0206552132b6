// Caches the permission checks of a unit of work, object by object. A batch makes the same few checks for each of its
// entries. A result is dropped when the unit changes an entry that it depends on.
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';

/** A check for entries on one object that name any of the permissions. */
export interface ObjectCheck {
  readonly objectId: ObjectUri;
  readonly permissions: readonly string[];
}

interface Check {
  readonly objectId: ObjectUri;
  readonly answer: Promise<boolean>;
}

export class KnownChecks {
  /** By the array of principals, which is the same one throughout a request, and the text of the check. */
  readonly #checks = new Map<readonly string[], Map<string, Check>>();

  /**
   * Returns whether any of the checks succeeds. If an earlier result decides, no other check is made.
   *
   * @param ask makes checks, and returns their results in their order
   */
  async find(
    principals: readonly Principal[],
    checks: readonly ObjectCheck[],
    ask: (unknown: readonly ObjectCheck[]) => readonly Promise<boolean>[],
  ): Promise<boolean> {
    let ofPrincipals = this.#checks.get(principals);
    if (ofPrincipals === undefined) this.#checks.set(principals, (ofPrincipals = new Map<string, Check>()));
    const unknown: ObjectCheck[] = [];
    const known: Promise<boolean>[] = [];
    for (const check of checks) {
      const earlier = ofPrincipals.get(keyOf(check));
      if (earlier === undefined) unknown.push(check);
      else known.push(earlier.answer);
    }
    if (known.length > 0 && (await isAny(known))) return true;
    if (unknown.length === 0) return false;
    const answers = ask(unknown);
    for (const [index, check] of unknown.entries()) {
      ofPrincipals.set(keyOf(check), { objectId: check.objectId, answer: answers[index]! });
    }
    return isAny(answers);
  }

  /** Drops the checks that depend on entries of these objects. */
  forget(objectIds: readonly ObjectUri[]): void {
    for (const ofPrincipals of this.#checks.values()) {
      for (const [key, { objectId }] of ofPrincipals) if (objectIds.includes(objectId)) ofPrincipals.delete(key);
    }
  }

  /** Drops all checks, when the changed entries are unknown. */
  forgetAll(): void {
    this.#checks.clear();
  }
}

async function isAny(answers: readonly Promise<boolean>[]): Promise<boolean> {
  return (await Promise.all(answers)).includes(true);
}

function keyOf({ objectId, permissions }: ObjectCheck): string {
  return `${permissions.join(' ')} ${objectId}`;
}
