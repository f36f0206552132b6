// Which collections are reviewed and signed, and where their records go: from the capability of the plugin `signer`.
import { kinds, type Place } from '../../core/places.ts';
import { capabilityText, type Service } from '../../core/service.ts';

interface SignerPlace {
  readonly bucket: string;
  /** `null`: every collection of the bucket. */
  readonly collection: string | null;
}

interface SignerResource {
  readonly source: SignerPlace;
  readonly preview?: SignerPlace;
  readonly destination: SignerPlace;
  readonly to_review_enabled: boolean;
  readonly editors_group: string;
  readonly reviewers_group: string;
}

export interface ReviewRoute {
  readonly preview: Place | undefined;
  readonly destination: Place;
  /** Whether signing requires a review by another user. */
  readonly isReviewed: boolean;
  /** Groups as principals. */
  readonly editors: string;
  readonly reviewers: string;
}

/** Returns the route of a collection; `undefined` when it is not the source of signed records. */
export function routeOf(service: Service, place: Place): ReviewRoute | undefined {
  const [bucket, collection] = [place[0]?.id, place[1]?.id];
  const text = capabilityText(service, 'signer');
  if (bucket === undefined || collection === undefined || text === undefined) return undefined;
  const { resources = [] } = JSON.parse(text) as { readonly resources?: readonly SignerResource[] };
  const ofBucket = resources.filter(({ source }) => source.bucket === bucket);
  // A collection with settings of its own comes before its bucket.
  const resource =
    ofBucket.find(({ source }) => source.collection === collection) ??
    ofBucket.find(({ source }) => source.collection === null);
  if (resource === undefined) return undefined;
  const target = (to: SignerPlace): Place => [
    { kind: kinds.bucket, id: to.bucket },
    { kind: kinds.collection, id: to.collection ?? collection },
  ];
  const group = (name: string): string => {
    const id = name.replaceAll('{bucket_id}', bucket).replaceAll('{collection_id}', collection);
    return `/buckets/${bucket}/groups/${id}`;
  };
  return {
    preview: resource.preview === undefined ? undefined : target(resource.preview),
    destination: target(resource.destination),
    isReviewed: resource.to_review_enabled,
    editors: group(resource.editors_group),
    reviewers: group(resource.reviewers_group),
  };
}
