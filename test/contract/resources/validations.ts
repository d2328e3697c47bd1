import type { Entry } from "../../../src/resources/resource.ts";
import {
  openStoredValidations,
  type LiveValidation,
  type ValidationFile,
} from "../../../src/resources/validations/validation-records.ts";
import type { ResourceCase } from "../registry-contract.ts";

const toFile = (id: string): ValidationFile => ({ endpoint: id.split(".")[0] ?? "", format: "json" });

export const validationsCase: ResourceCase = {
  name: "validations",
  kind: "validation",
  ids: ["orders.json", "users.json"],
  isMadeByPut: true,
  isNeverDeclared: true,
  etagOf: (entry) => `"${(entry as Entry<LiveValidation>).thing.version}"`,
  async open(registry, store) {
    const validations = await openStoredValidations({
      registry,
      store,
      examine: async () => undefined,
      onChange: () => {},
    });
    const put = async (id: string, note: string, ifMatch?: string) => {
      const document = new Uint8Array(Buffer.from(note));
      return (await validations.put({ ...toFile(id), document, by: "key_1" }, { ifMatch })).entry;
    };
    const find = (id: string) => validations.find(toFile(id));
    return {
      make: async (id, note) => ({ entry: await put(id, note), isReplay: false }),
      change: put,
      remove: (id, ifMatch) => validations.remove(toFile(id).endpoint, "json", "key_1", ifMatch),
      find,
      noteOf: (id) => find(id) && Buffer.from(find(id)?.thing.document ?? []).toString(),
    };
  },
};
