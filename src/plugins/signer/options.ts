// Options of one source collection, computed from the settings on first use.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import type { ValuesOf } from '../../settings/definition.ts';
import type { Settings } from '../../settings/settings.ts';
import { createAutographSigner } from './signers/autograph.ts';
import { createLocalSigner } from './signers/local.ts';
import type { Signer } from './signers/signer.ts';
import type { CollectionId, Place } from './routes.ts';
import { readFor, type signerSettings } from './settings.ts';

export interface CollectionOptions {
  readonly isReviewed: boolean;
  /** Ids of the groups in the bucket of the source. */
  readonly editorsGroup: string;
  readonly reviewersGroup: string;
  /** Ids of those groups that belong to this collection alone: the settings name them by its id. */
  readonly ownGroups: readonly string[];
  readonly allowsFloats: boolean;
  readonly deletesTargets: boolean;
  readonly signer: Signer;
}

type Values = ValuesOf<typeof signerSettings>;

export class SignerOptions {
  readonly #settings: Settings;
  readonly #values: Values;
  readonly #clock: Clock;
  readonly #known = new LRUCache<string, CollectionOptions>({ max: 10_000 });
  /** Signers by their parameters, so that each key is read once. */
  readonly #signers = new Map<string, Signer>();

  constructor(settings: Settings, values: Values, clock: Clock) {
    this.#settings = settings;
    this.#values = values;
    this.#clock = clock;
  }

  /** Signers created so far. */
  get signers(): readonly Signer[] {
    return [...this.#signers.values()];
  }

  /**
   * Returns the options of a source collection.
   *
   * @throws Error when a setting is missing or invalid
   */
  of(source: CollectionId): CollectionOptions {
    const key = `${source.bucket}/${source.collection}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const read = <N extends Parameters<typeof readFor>[3]>(name: N): ReturnType<typeof readFor<N>> =>
      readFor(this.#settings, this.#values, source, name);
    const templates = [read('editors_group'), read('reviewers_group')] as const;
    const [editorsGroup, reviewersGroup] = [fillGroup(templates[0], source), fillGroup(templates[1], source)];
    const options: CollectionOptions = {
      isReviewed: read('to_review_enabled'),
      editorsGroup,
      reviewersGroup,
      ownGroups: [editorsGroup, reviewersGroup].filter((_, index) => templates[index]!.includes('{collection_id}')),
      allowsFloats: read('allow_floats'),
      deletesTargets: read('hard_delete_destination_on_source_deletion'),
      signer: this.signerOf(source),
    };
    this.#known.set(key, options);
    return options;
  }

  /**
   * Returns the signer of a source.
   *
   * @throws Error when a setting is missing or a key cannot be used
   */
  signerOf(place: Place): Signer {
    const read = <N extends Parameters<typeof readFor>[3]>(name: N): ReturnType<typeof readFor<N>> =>
      readFor(this.#settings, this.#values, place, name);
    const need = (name: Parameters<typeof requireText>[0], value: string | undefined): string =>
      requireText(name, value, place);
    if (read('signer_backend') === 'autograph') {
      const serverUrl = need('autograph.server_url', read('autograph.server_url'));
      const id = need('autograph.hawk_id', read('autograph.hawk_id'));
      const key = need('autograph.hawk_secret', read('autograph.hawk_secret'));
      const timeoutSeconds = read('autograph.timeout_seconds');
      return this.#share(['autograph', serverUrl, id, key, timeoutSeconds], () =>
        createAutographSigner({ serverUrl, credentials: { id, key }, timeoutSeconds, clock: this.#clock }),
      );
    }
    const privateKey = need('ecdsa.private_key', read('ecdsa.private_key'));
    const publicKey = read('ecdsa.public_key');
    return this.#share(['local_ecdsa', privateKey, publicKey], () => createLocalSigner({ privateKey, publicKey }));
  }

  #share(parts: readonly unknown[], create: () => Signer): Signer {
    const key = JSON.stringify(parts);
    const signer = this.#signers.get(key) ?? create();
    this.#signers.set(key, signer);
    return signer;
  }
}

function requireText(name: string, value: string | undefined, { bucket, collection }: Place): string {
  if (value !== undefined && value !== '') return value;
  const place = collection === undefined ? bucket : `${bucket}.${collection}`;
  throw new Error(`signer.${name} is required to sign ${place}. Set it, or signer.${place}.${name}.`);
}

function fillGroup(template: string, { bucket, collection }: CollectionId): string {
  const id = template.replaceAll('{bucket_id}', () => bucket).replaceAll('{collection_id}', () => collection);
  if (/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/.test(id)) return id;
  throw new Error(
    `${template} is not a valid group id for ${bucket}/${collection}. Use letters, digits, - and _, with {bucket_id} and {collection_id} as placeholders.`,
  );
}
