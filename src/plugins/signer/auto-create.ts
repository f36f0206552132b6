// Creation of source collections at start (setting `signer.auto_create_resources`).
import type { Principal } from '../../core/permissions/principals.ts';
import { anonymous } from '../../engine/caller.ts';
import { internalRequest } from '../../engine/exchange.ts';
import { runInUnit } from '../../engine/retry.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { ensureGroups, groupUris, withPrincipals } from './groups.ts';
import { PendingWork } from './pending-work.ts';
import { targetsOf, type Resource } from './routes.ts';
import { collectionPlace, pluginCaller, workOn, type SignerService } from './service.ts';
import { ensureTarget, signPending } from './targets.ts';
import { writeSource } from './review-attributes.ts';

/**
 * Creates the missing parts of a source: its bucket, and its collection if the resource names one.
 *
 * @param writers principals that get `write` on what is created
 */
export function createSource(service: SignerService, resource: Resource, writers: readonly Principal[]): Promise<void> {
  const { stores, logger } = service.host;
  // Several processes may create the same source at the same time.
  return runInUnit(stores, logger, (unit) => create(service, unit, resource, writers));
}

async function create(
  service: SignerService,
  unit: UnitOfWork,
  { source: { bucket, collection } }: Resource,
  writers: readonly Principal[],
): Promise<void> {
  const { objects } = service.host;
  const actor = { unit, request: internalRequest('signer-start'), caller: pluginCaller };
  const asNew = {
    attributes: (old: object | undefined) => (old === undefined ? {} : undefined),
    permissions: () => ({ write: writers }),
  };
  const place = objects.place('bucket', { bucket_id: bucket });
  if ((await objects.find(actor, place)) === undefined) await objects.write(actor, place, asNew);
  if (collection === undefined) return;
  const source = { bucket, collection };
  const route = service.routes.from(source);
  if (route === undefined || (await objects.write(actor, collectionPlace(objects, source), asNew)) === undefined)
    return;
  const pending = new PendingWork();
  const work = workOn(service, actor, route, pending);
  await ensureGroups(work, anonymous);
  for (const target of targetsOf(route)) {
    await ensureTarget(work, target, anonymous);
    pending.sign({ options: work.options, target });
  }
  const { editors, reviewers } = groupUris(source, work.options);
  await writeSource(work, {
    status: 'signed',
    actions: ['edit', 'signature'],
    caller: pluginCaller,
    permissions: (stored) => withPrincipals(stored, 'write', [editors, reviewers]),
  });
  await signPending({ service, actor, pending });
}
