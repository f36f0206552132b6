// Signing: records of a source collection are reviewed, copied to a destination, and signed there, so that clients know
// that they come from whom they should, through whatever caches.
import { definePlugin } from '../../http/plugin.ts';
import { createSource } from './auto-create.ts';
import { currentCapability } from './capability.ts';
import { SignerOptions } from './options.ts';
import { MatchedCollections } from './matched.ts';
import { requirePatterns } from './patterns.ts';
import { placeUri, Routes } from './routes.ts';
import type { SignerService } from './service.ts';
import { collectionsWithOwnSettings, readFor, signerFamilies, signerSettings } from './settings.ts';
import { signerSubscribers } from './subscribers.ts';

export const signer = definePlugin({
  name: 'signer',
  settings: signerSettings,
  families: signerFamilies,
  setup(host) {
    const { settings, clock } = host;
    const values = settings.read(signerSettings);
    const resources = values['signer.resources'];
    requirePatterns(settings.keys());
    if (resources.length === 0) throw new Error('signer.resources is empty: there is nothing to sign.');
    const options = new SignerOptions(settings, values, clock);
    const service: SignerService = { host, routes: new Routes(resources), options, statuses: new WeakMap() };
    // Whatever does not fit is found now, and not at the first signature.
    for (const { source } of resources) {
      const { bucket, collection } = source;
      const named = collection === undefined ? collectionsWithOwnSettings(settings, bucket) : [collection];
      for (const name of named) options.of({ bucket, collection: name });
      if (collection === undefined) options.signerOf(source);
    }
    const matched = new MatchedCollections(host, resources);
    return {
      subscribers: [...signerSubscribers(service), ...matched.subscribers],
      healthChecks: {
        signer: async () => {
          const healthy = await Promise.all(options.signers.map((each) => each.check()));
          return healthy.every(Boolean);
        },
      },
      capabilities: { signer: currentCapability(host, values, matched) },
      async start() {
        const wrong = resources
          .flatMap(({ source, preview, destination }) => [
            source,
            destination,
            ...(preview === undefined ? [] : [preview]),
          ])
          .find((place) => host.objects.findByUri(placeUri(place)) === undefined);
        if (wrong !== undefined) throw new Error(`signer.resources: no object can have the URI ${placeUri(wrong)}.`);
        if (!host.stores.storage.database.abilities.atomicAcrossParents) {
          host.logger.warn(
            'The storage does not write several collections at once: for moments, clients may see records that their signature does not fit yet.',
          );
        }
        await matched.start();
        if (settings.get('readonly')) return;
        for (const resource of resources) {
          if (!readFor(settings, values, resource.source, 'auto_create_resources')) continue;
          const writers = readFor(settings, values, resource.source, 'auto_create_resources_principals');
          await createSource(service, resource, writers);
        }
      },
    };
  },
});
