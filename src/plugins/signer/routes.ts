// The setting `signer.resources`: sources, previews and destinations; and the lookup of the route of a collection.
import { uriBelow, type ObjectUri } from '../../core/objects/uris.ts';
import type { Reader, Reading } from '../../settings/readers.ts';

/** One collection, or a bucket with all its collections. */
export interface Place {
  readonly bucket: string;
  readonly collection: string | undefined;
}

/** One line of the setting. */
export interface Resource {
  readonly source: Place;
  readonly preview: Place | undefined;
  readonly destination: Place;
}

export interface CollectionId {
  readonly bucket: string;
  readonly collection: string;
}

/** Source, preview and destination of the records of one collection. */
export interface Route {
  readonly source: CollectionId;
  readonly preview: CollectionId | undefined;
  readonly destination: CollectionId;
}

const form = 'lines such as /buckets/staging -> /buckets/preview -> /buckets/main';
const uriForm = /^\/buckets\/([a-zA-Z0-9][a-zA-Z0-9_-]*)(?:\/collections\/([a-zA-Z0-9][a-zA-Z0-9_-]*))?\/?$/;
/** The form `staging/articles` of older deployments. */
const shortForm = /^([a-zA-Z0-9][a-zA-Z0-9_-]*)\/([a-zA-Z0-9][a-zA-Z0-9_-]*)$/;

/** Reads the lines of the setting, or a JSON array of lines. */
export const resourcesReader: Reader<readonly Resource[]> = {
  form,
  read(given): Reading<readonly Resource[]> {
    const resources: Resource[] = [];
    for (const line of splitLines(given)) {
      const resource = parseResource(line);
      if (resource === undefined) return wrong(`${form}; not ${line}`);
      resources.push(resource);
    }
    const uris = resources.flatMap(({ source, preview, destination }) =>
      [source, preview, destination].flatMap((place) => (place === undefined ? [] : [placeUri(place)])),
    );
    const twice = uris.find((uri, index) => uris.indexOf(uri) !== index);
    return twice === undefined
      ? { kind: 'value', value: resources }
      : wrong(`each URI at most once; ${twice} is repeated`);
  },
};

function wrong(expected: string): Reading<never> {
  return { kind: 'wrong', expected };
}

function splitLines(given: string): readonly string[] {
  let lines: readonly unknown[] = given.split('\n');
  try {
    const parsed: unknown = JSON.parse(given);
    lines = Array.isArray(parsed) ? parsed : typeof parsed === 'string' ? parsed.split('\n') : lines;
  } catch {
    // Plain lines are not JSON.
  }
  return lines.map((line) => String(line).trim()).filter((line) => line !== '');
}

function parseResource(line: string): Resource | undefined {
  const places = line.split(/->|;/).map((text) => parseConfigured(text.trim()));
  const [source, second, third] = places;
  const destination = third ?? second;
  if (source === undefined || destination === undefined || places.length > 3) return undefined;
  if (places.some((place) => (place?.collection === undefined) !== (source.collection === undefined))) return undefined;
  return { source, preview: third === undefined ? undefined : second, destination };
}

function parseConfigured(text: string): Place | undefined {
  const [, bucket, collection] = shortForm.exec(text) ?? [];
  return bucket === undefined ? parsePlace(text) : { bucket, collection };
}

function parsePlace(text: string): Place | undefined {
  const match = uriForm.exec(text);
  return match === null ? undefined : { bucket: match[1]!, collection: match[2] };
}

/** Returns the URI of a bucket or a collection. */
export function placeUri({ bucket, collection }: Place): ObjectUri {
  const uri = uriBelow('', 'buckets', bucket);
  return collection === undefined ? uri : uriBelow(uri, 'collections', collection);
}

/** Returns the preview, if any, and the destination. */
export function targetsOf({ preview, destination }: Route): readonly CollectionId[] {
  return preview === undefined ? [destination] : [preview, destination];
}

/** Returns the collection of a URI, or `undefined` for other URIs. */
export function parseCollectionUri(uri: string): CollectionId | undefined {
  const { bucket, collection } = parsePlace(uri) ?? {};
  return bucket === undefined || collection === undefined ? undefined : { bucket, collection };
}

/** Routes by source and by target. A line for a collection takes precedence over the line for its bucket. */
export class Routes {
  readonly resources: readonly Resource[];
  readonly #bySource: ReadonlyMap<string, Resource>;
  readonly #byTarget: ReadonlyMap<string, Resource>;

  constructor(resources: readonly Resource[]) {
    this.resources = resources;
    this.#bySource = new Map(resources.map((resource) => [placeUri(resource.source), resource]));
    this.#byTarget = new Map(
      resources.flatMap((resource) =>
        [resource.preview, resource.destination].flatMap((place) =>
          place === undefined ? [] : [[placeUri(place), resource] as const],
        ),
      ),
    );
  }

  /**
   * Returns the route whose source is the collection. The line of a bucket does not apply to a collection that it would publish
   * where the line of another collection publishes: its records would replace reviewed ones.
   */
  from(id: CollectionId): Route | undefined {
    const route = findRoute(this.#bySource, id);
    if (route === undefined || this.#bySource.has(placeUri(id))) return route;
    return targetsOf(route).some((target) => this.#byTarget.has(placeUri(target))) ? undefined : route;
  }

  /** Returns the route whose preview or destination is the collection. */
  to(id: CollectionId): Route | undefined {
    const route = findRoute(this.#byTarget, id);
    if (route === undefined) return undefined;
    // The line of a bucket does not apply to collections that have their own line.
    const own = this.from(route.source);
    return own !== undefined && targetsOf(own).some((target) => placeUri(target) === placeUri(id)) ? own : undefined;
  }
}

function findRoute(table: ReadonlyMap<string, Resource>, id: CollectionId): Route | undefined {
  const resource = table.get(placeUri(id)) ?? table.get(placeUri({ bucket: id.bucket, collection: undefined }));
  return resource === undefined ? undefined : routeOf(resource, id.collection);
}

function routeOf({ source, preview, destination }: Resource, collection: string): Route {
  const fill = (place: Place): CollectionId => ({ bucket: place.bucket, collection: place.collection ?? collection });
  return {
    source: fill(source),
    preview: preview === undefined ? undefined : fill(preview),
    destination: fill(destination),
  };
}
