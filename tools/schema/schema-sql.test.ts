import { expect, test } from "vitest";
import { schemaSql } from "./schema-sql.ts";

const dump = String.raw`--
-- PostgreSQL database dump
--

\restrict abc

SET statement_timeout = 0;

--
-- Name: crew_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.crew_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


SET default_table_access_method = heap;

--
-- Name: crew; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.crew (
    ship bigint NOT NULL,
    since timestamp with time zone
);


--
-- Name: ships; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ships (
    id bigint NOT NULL
);


--
-- Name: crew_by_ship; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX crew_by_ship ON public.crew USING btree (ship);


--
-- Name: crew crew_ship_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.crew
    ADD CONSTRAINT crew_ship_fkey FOREIGN KEY (ship) REFERENCES public.ships(id);


--
-- PostgreSQL database dump complete
--

\unrestrict abc
`;

test("each table is followed by its indexes and keys, without what every dump has", () => {
  expect(schemaSql(dump).split("\n").slice(2).join("\n")).toBe(`CREATE SEQUENCE crew_seq;

CREATE TABLE crew (
    ship bigint NOT NULL,
    since timestamptz
);
CREATE INDEX crew_by_ship ON crew USING btree (ship);
ALTER TABLE ONLY crew ADD CONSTRAINT crew_ship_fkey FOREIGN KEY (ship) REFERENCES ships(id);

CREATE TABLE ships (
    id bigint NOT NULL
);
`);
});
