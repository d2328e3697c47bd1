import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sendJson } from "../../api/client.ts";
import { useToast } from "../../ui/toasts.tsx";

export interface ActionOnSome {
  run: (ids: readonly string[]) => void;
  isPending: boolean;
  /** How many of them are through, whatever became of them. */
  done: number;
}

const SAYS = {
  replay: (count: number) => `${count} ${count === 1 ? "delivery is" : "deliveries are"} open again.`,
  purge: (count: number) => `${count} dead ${count === 1 ? "letter is" : "letters are"} purged.`,
};

/** One after the other: those that somebody picked by hand are few. Goes on after one with which it is not possible. */
export function useActionOnSome(action: keyof typeof SAYS, onDone: () => void): ActionOnSome {
  const client = useQueryClient();
  const toast = useToast();
  const [done, setDone] = useState(0);
  const { mutate, isPending } = useMutation({
    async mutationFn(ids: readonly string[]) {
      setDone(0);
      const failures: Error[] = [];
      for (const id of ids) {
        await sendJson("POST", `/api/v1/dead-letters/${action}`, { id }).catch((error: Error) => failures.push(error));
        setDone((before) => before + 1);
      }
      return { failures, succeeded: ids.length - failures.length };
    },
    async onSuccess({ failures, succeeded }) {
      onDone();
      if (succeeded > 0) toast.show(SAYS[action](succeeded));
      if (failures[0] !== undefined) toast.fail(failures[0]);
      await client.invalidateQueries({ queryKey: ["dead-letters"] });
    },
  });
  return { run: (ids) => mutate(ids), isPending, done };
}
