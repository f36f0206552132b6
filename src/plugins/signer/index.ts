// Plugin `signer`: copies reviewed records of a source collection to a destination and signs them there. Clients verify
// the origin of records, even if these come from a cache. See docs/guides/signing.md.
import { toPrincipals } from '../../core/permissions/principals.ts';
import { definePlugin } from '../../http/plugin.ts';
import { createSource } from './auto-create.ts';
import { currentCapability, MatchedCollections } from './capability.ts';
import { SignerOptions } from './options.ts';
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
    if (resources.length === 0) {
      throw new Error(
        'signer.resources is empty. List the collections to sign, or remove the plugin. The default of kinto_remote_settings is: ' +
          '/buckets/main-workspace -> /buckets/main-preview -> /buckets/main',
      );
    }
    const options = new SignerOptions(settings, values, clock);
    const service: SignerService = { host, routes: new Routes(resources), options, statuses: new WeakMap() };
    // Errors in settings and keys must appear at start, not at the first signature.
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
        if (wrong !== undefined) throw new Error(`signer.resources: ${placeUri(wrong)} is not a valid object URI.`);
        if (!host.stores.storage.database.abilities.atomicAcrossParents) {
          host.logger.warn(
            'The storage does not write several collections atomically. Clients may briefly see records that do not match their signature.',
          );
        }
        await matched.start();
        if (settings.get('readonly')) return;
        for (const resource of resources) {
          if (!readFor(settings, values, resource.source, 'auto_create_resources')) continue;
          const writers = readFor(settings, values, resource.source, 'auto_create_resources_principals');
          await createSource(service, resource, toPrincipals(writers));
        }
      },
    };
  },
});
